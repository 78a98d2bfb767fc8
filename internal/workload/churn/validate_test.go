package churn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []string // "field: message", where the message is cut off after its beginning
	}{
		{"defaults", func(*Config) {}, nil},
		{"levels", func(c *Config) {
			c.Objects, c.Churn = factor.Of(1, 100, mostObjects/4), factor.Of[quantity.Percent](0, 0.25, 1)
			c.Duration = quantity.Duration(time.Minute)
		}, nil},
		{"objects", func(c *Config) { c.Objects = factor.Of(10, 0, mostObjects+1) },
			[]string{"objects[1]: 0 is not a number of objects from 1 to 200000", "objects[2]: 200001 is not"}},
		{"rate", func(c *Config) { c.Rate = factor.Of[quantity.Frequency](10_001) }, []string{"rate[0]: 10001/s is more than 10000/s"}},
		{"churn", func(c *Config) { c.Churn = factor.Of[quantity.Percent](1.5) }, []string{"churn[0]: 150% is more than all objects"}},
		{"duration without churn", func(c *Config) { c.Duration = quantity.Duration(time.Second) },
			[]string{"duration: 1s has no effect without churn"}},
		{"times", func(c *Config) {
			c.Ready, c.Request, c.Late, c.Settle = 0, 0, 0, quantity.Duration(24*time.Hour)
		}, []string{"settle: 24h is not a time from 0s to 6h", "readyTimeout: 0s is not a time from 1s to 6h", "requestTimeout: 0s is not a time from 100ms", "late: 0s is not a time from 1ms"}},
		{"too many requests", func(c *Config) {
			c.Churn, c.Duration, c.Rate = factor.Of[quantity.Percent](1), quantity.Duration(time.Hour), factor.Of[quantity.Frequency](1000)
		}, []string{"objects: a trial could send more than 500000 requests"}},
		{"template", func(c *Config) { c.Templates[0].Inline = "apiVersion: v1\nkind: Node" },
			[]string{"templates[0].inline: a Node is not namespaced"}},
		{"template that shows its fault with the second object", func(c *Config) {
			c.Templates[0].Inline = "apiVersion: v1\nkind: Pod\nspec: {a: '{{div 1 (sub .Index 1)}}'}"
		}, []string{"templates[0].inline: template: object:3:"}},
		{"template file", func(c *Config) { c.Templates[0] = Template{File: "/nowhere/a.yaml"} },
			[]string{"templates[0].file: the template gives no object"}},
		{"no source", func(c *Config) { c.Templates[0] = Template{} }, []string{"templates[0]: there is neither inline nor file"}},
		{"only fixed", func(c *Config) { c.Templates[0].Fixed = 3 }, []string{"templates: no template is left to make objects from"}},
		{"scale without replicas", func(c *Config) { c.Operation, c.Churn = scale, factor.Of[quantity.Percent](0.5) },
			[]string{"templates[0].inline: operation scale needs spec.replicas of 1 or more in the template"}},
		{"update that the status cannot tell", func(c *Config) {
			c.Operation, c.Churn = Update, factor.Of[quantity.Percent](0, 0.5)
			c.Templates = append(c.Templates, Template{Inline: deploymentTemplate, Ready: Condition{how: field, name: "phase", value: "Active"}})
		}, []string{"templates[0].inline: operation update changes only metadata, so that the state before the update already meets condition=Ready: put {{.Revision}}",
			"templates[1].inline: operation update changes only metadata, so that the state before the update already meets status.phase=Active"}},
		{"updates that can be told", func(c *Config) {
			c.Operation, c.Churn = Update, factor.Of[quantity.Percent](0.5)
			c.Templates = []Template{{Inline: podTemplate, Ready: Condition{how: exists}}, {Inline: deploymentTemplate}, {Inline: podTemplate, Fixed: 1},
				{Inline: revisedTemplate, Ready: Condition{how: field, name: "phase", value: "Active"}}}
		}, nil},
		{"no update", func(c *Config) { c.Operation = Update }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := New().(*Config)
			config.Templates = []Template{{Inline: podTemplate}}
			c.change(config)
			var got []string
			for _, e := range config.validate() {
				got = append(got, e.Field+": "+e.Message)
			}
			same := slices.EqualFunc(got, c.want, strings.HasPrefix)
			if !same {
				t.Errorf("problems %q, want %q", got, c.want)
			}
		})
	}
}

func TestEstimates(t *testing.T) {
	c := config(1000, podTemplate)
	c.Rate, c.Settle = factor.Of[quantity.Frequency](50), quantity.Duration(2*time.Second)
	if got := c.expected(); got != 24*time.Second {
		t.Errorf("making 1,000 at 50/s and settling for 2 s before and after is expected to take %v", got)
	}
	c.Churn = factor.Of[quantity.Percent](0.25)
	if got := c.expected(); got != (10+10+6)*time.Second {
		t.Errorf("with 250 of them down and up it is expected to take %v", got)
	}
	if c.Measures().Limit < c.expected() {
		t.Errorf("bound %v under what is expected, %v", c.Measures().Limit, c.expected())
	}
	for _, turn := range []struct {
		share    quantity.Percent
		duration time.Duration
		churned  int
		turns    int
	}{{0.001, 0, 1, 1}, {0.5, time.Second, 500, 1}, {0.1, 9 * time.Second, 100, 2}, {1, time.Hour, 1000, 90}} {
		c.Churn, c.Duration = factor.Of(turn.share), quantity.Duration(turn.duration)
		if c.churned() != turn.churned || c.turns() != turn.turns {
			t.Errorf("%v for %v: %d objects in %d turns, want %d in %d", turn.share, turn.duration, c.churned(), c.turns(), turn.churned, turn.turns)
		}
	}
}

func TestNeeds(t *testing.T) {
	c := New().(*Config)
	if n := c.Declare().Needs; n.Only != experiment.TestbedKubernetes || n.Pods() || n.PodSecurity != nil {
		t.Errorf("needs %+v", n)
	}
	c.PodSecurity = baseline
	if n := c.Declare().Needs; len(n.PodSecurity) != 1 || n.PodSecurity[0].Level != "baseline" {
		t.Errorf("needs %+v for pods of the level baseline", n)
	}
}

func TestRights(t *testing.T) {
	c := New().(*Config)
	c.Templates = []Template{{Inline: podTemplate}, {Inline: "apiVersion: crd.varmor.org/v1beta1\nkind: VarmorPolicy"}, {Inline: "no object"}}
	var got []string
	for _, r := range c.rights("mine") {
		got = append(got, fmt.Sprint(r.Name(), " ", r.Namespace, " ", r.Verbs, ": ", r.Why))
	}
	want := []string{
		"pods mine [create delete deletecollection get list patch watch]: the workload churn makes objects of the kind Pod",
		"varmorpolicies.crd.varmor.org mine [create delete deletecollection get list patch watch]: the workload churn makes objects of the kind VarmorPolicy",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rights %q, want %q", got, want)
	}
}
