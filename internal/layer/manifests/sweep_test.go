package manifests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
)

const swept = `apiVersion: crd.varmor.org/v1beta1
kind: VarmorPolicy
metadata: {name: rules-$(rules)}
spec:
  policy:
    mode: $(mode)
    files:
    - {pattern: /etc/shadow, port: 1}
    - {pattern: '/tare/$(item)/**', port: $(item), ports: ["$(item)-x", {a: $(item)}]}
    replicas: $(rules)
`

func sweeping(levels ...factor.Word) *config {
	return with(swept, func(c *config) {
		c.Factors = factor.Named{"rules": levels, "mode": factor.Of[factor.Word]("Enhance")}
		c.Repeat = map[string]factor.Word{"spec.policy.files": "rules"}
		c.Wait = []wait{{Kind: "VarmorPolicy", Name: "rules-$(rules)", Condition: "status.mode=$(mode)"}}
	})
}

// specOf returns the spec of the policy at one level, as JSON.
func specOf(t *testing.T, c *config) string {
	t.Helper()
	objects, problems := c.filled().objects()
	if len(problems) > 0 || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), problems)
	}
	text, err := json.Marshal(objects[0].Object["spec"].(map[string]any)["policy"])
	if err != nil {
		t.Fatal(err)
	}
	return objects[0].GetName() + " " + string(text)
}

// Texts contain the level, and lists have the length that the level sets: the items in turn, each with its number. A
// placeholder that stands alone becomes a number.
func TestSwept(t *testing.T) {
	for level, want := range map[factor.Word]string{
		"0": `rules-0 {"files":[],"mode":"Enhance","replicas":0}`,
		"1": `rules-1 {"files":[{"pattern":"/etc/shadow","port":1}],"mode":"Enhance","replicas":1}`,
		"2": `rules-2 {"files":[{"pattern":"/etc/shadow","port":1},{"pattern":"/tare/2/**","port":2,"ports":["2-x",{"a":2}]}],"mode":"Enhance","replicas":2}`,
	} {
		if got := specOf(t, sweeping(level)); got != want {
			t.Errorf("%s rules:\n got %s\nwant %s", level, got, want)
		}
	}
	all := with("kind: A\napiVersion: v1\nmetadata: {name: a}\nspec: {l: [a-$(item), b-$(item)], other: $(HOME)}\n", func(c *config) { c.Repeat = map[string]factor.Word{"spec.l": "5"} })
	objects, problems := all.filled().objects()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(map[string]any{"l": []any{"a-1", "b-2", "a-3", "b-4", "a-5"}, "other": "$(HOME)"}, objects[0].Object["spec"]); diff != "" {
		t.Error(diff)
	}
	waited := sweeping("2").filled().Wait[0]
	if waited.Name != "rules-2" || waited.Condition != "status.mode=Enhance" {
		t.Errorf("%+v", waited)
	}
	if c := sweeping("4", "8"); strings.Contains(string(c.filled().Inline), "$(rules)") || len(c.variants()) != 2 || c.Factors["rules"][1] != "8" {
		t.Errorf("%+v", c)
	}
}

// Each object is repeated as often as the level says, each with its number, at the position of the original.
func TestMultiplied(t *testing.T) {
	const text = "kind: Template\napiVersion: v1\nmetadata: {name: t}\n---\nkind: Rule\napiVersion: v1\nmetadata: {name: r-$(item)}\nspec: {of: $(rules), number: $(item)}\n---\nkind: Last\napiVersion: v1\nmetadata: {name: l}\n"
	multiplying := func(levels ...factor.Word) *config {
		return with(text, func(c *config) {
			c.Factors, c.Repeat = factor.Named{"rules": levels}, map[string]factor.Word{"Rule": "rules"}
		})
	}
	for level, want := range map[factor.Word]string{"0": "t l", "1": "t r-1 of 1 number 1 l", "3": "t r-1 of 3 number 1 r-2 of 3 number 2 r-3 of 3 number 3 l"} {
		objects, problems := multiplying(level).filled().objects()
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got []string
		for _, o := range objects {
			got = append(got, o.GetName())
			if spec, is := o.Object["spec"].(map[string]any); is {
				got = append(got, fmt.Sprintf("of %v number %v", spec["of"], spec["number"]))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s rules: %q, want %q", level, got, want)
		}
	}
	if rights := multiplying("0", "2").rights("x"); !slices.ContainsFunc(rights, func(r experiment.Right) bool { return r.Resource == "rules" }) {
		t.Errorf("the right to make rules is missing where the first level has none: %+v", rights)
	}
}

func TestValidateSweeps(t *testing.T) {
	for _, c := range []struct {
		name   string
		config *config
		want   []experiment.FieldError
	}{
		{"fine", sweeping("0", "1", "2"), nil},
		{"too few items at the highest level", sweeping("0", "2", "4"), []experiment.FieldError{{Field: "repeat.spec.policy.files",
			Message: "inline:1: the list has 2 items and needs 4: put $(item), the number of an item, into each, so that the items differ"}}},
		{"names", with(policy, func(c *config) {
			c.Factors = factor.Named{"Rules": factor.Of[factor.Word]("1"), "rules": {}, "mode": factor.Of[factor.Word]("1")}
		}), []experiment.FieldError{
			{Field: "factors.Rules", Message: `"Rules" is not a name of letters, digits and single dashes that begins with a lower-case letter`},
			{Field: "factors.mode", Message: "nothing holds $(mode), so that all levels would do the same"},
			{Field: "factors.rules", Message: "it has no level"}}},
		{"no list", with(policy, func(c *config) { c.Repeat = map[string]factor.Word{"data.mode": "2"} }),
			[]experiment.FieldError{{Field: "repeat.data.mode", Message: "no object has a list at this path"}}},
		{"no number", with(policy, func(c *config) { c.Repeat = map[string]factor.Word{"data": "many"} }),
			[]experiment.FieldError{{Field: "repeat.data", Message: `"many" is neither the name of a factor nor a number from 0 to 1000`}}},
		{"objects without a number", with("kind: Rule\napiVersion: v1\nmetadata: {name: r}\n", func(c *config) { c.Repeat = map[string]factor.Word{"Rule": "2"} }),
			[]experiment.FieldError{{Field: "repeat.Rule", Message: "inline:1: put $(item), the number of an object, into the name of Rule r, so that the names differ"}}},
		{"no object of the kind", with(policy, func(c *config) { c.Repeat = map[string]factor.Word{"Nobody": "2"} }),
			[]experiment.FieldError{{Field: "repeat.Nobody", Message: "there is no object of this kind"}}},
		{"no number of objects", with(policy, func(c *config) { c.Repeat = map[string]factor.Word{"Nobody": "many"} }),
			[]experiment.FieldError{{Field: "repeat.Nobody", Message: `"many" is neither the name of a factor nor a number from 0 to 1000`}}},
		{"no path", with(policy, func(c *config) { c.Repeat = map[string]factor.Word{"data..x": "1"} }),
			[]experiment.FieldError{{Field: "repeat.data..x", Message: "a part of the path is empty"}}},
		{"nothing to repeat", with("kind: A\napiVersion: v1\nmetadata: {name: a}\nspec: {l: []}\n", func(c *config) { c.Repeat = map[string]factor.Word{"spec.l": "1"} }),
			[]experiment.FieldError{{Field: "repeat.spec.l", Message: "inline:1: the list has no item to make 1 of"}}},
		{"no object at one level", with("$(rules)apiVersion: v1\nkind: A\nmetadata: {name: a}\n", func(c *config) {
			c.Factors = factor.Named{"rules": factor.Of[factor.Word]("#", "")}
		}), []experiment.FieldError{{Field: "inline", Message: "inline:2:1: apiVersion is missing, or not a text"}}},
	} {
		if diff := cmp.Diff(c.want, c.config.validate()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A swept layer is applied, proven and found absent at its level.
func TestSweptLife(t *testing.T) {
	f := newFake("tare-a")
	c := with("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policy}\ndata: {rules: '$(rules)'}\n", func(c *config) { c.Factors = factor.Named{"rules": factor.Of[factor.Word]("8")} })
	a := &active{config: c.filled(), on: f}
	if err := a.up(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got, err := a.present(t.Context()); err != nil || !got.OK {
		t.Errorf("%+v, %v", got, err)
	}
	if !slices.ContainsFunc(a.objects, func(u *unstructured.Unstructured) bool { return u.Object["data"].(map[string]any)["rules"] == "8" }) {
		t.Errorf("%v", a.objects)
	}
}
