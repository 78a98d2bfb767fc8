package command

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
)

func TestValidate(t *testing.T) {
	yes := true
	tests := []struct {
		name   string
		change func(*Config)
		want   []experiment.FieldError
	}{
		{"nothing to run", func(c *Config) { c.Shell = "" }, []experiment.FieldError{
			{Field: "run", Message: "no program is given: write run: [program, argument…], or shell: text for /bin/sh"}}},
		{"two things to run", func(c *Config) { c.Command = []string{"true"} }, []experiment.FieldError{
			{Field: "shell", Message: "there is run too; a trial runs one of them"}}},
		{"no name", func(c *Config) { c.Shell, c.Command = "", []string{""} }, []experiment.FieldError{
			{Field: "run[0]", Message: "the program has no name"}}},
		{"numbers", func(c *Config) { c.Timeout, c.Warmup, c.OK = 0, -1, []int{0, 256} }, []experiment.FieldError{
			{Field: "timeout", Message: "0s is too short for any program"},
			{Field: "warmup", Message: "-1 is not a number of runs from 0 to 1000"},
			{Field: "ok[1]", Message: "256 is not an exit status from 0 to 255"}}},
		{"longer than can be counted", func(c *Config) {
			c.Timeout, c.Expects = quantity.Duration(1001*time.Hour), quantity.Duration(1001*time.Hour)
		}, []experiment.FieldError{
			{Field: "timeout", Message: "1001h is longer than 1000h"},
			{Field: "expect", Message: "1001h is longer than 1000h"}}},
		{"no status", func(c *Config) { c.OK = nil }, []experiment.FieldError{
			{Field: "ok", Message: "no exit status counts as success"}}},
		{"references", func(c *Config) { c.Shell, c.Command = "", []string{"$TOOL", "a$B$ $", "${C}", "sh", "-c", "${D} $"} }, []experiment.FieldError{
			{Field: "run[0]", Message: "a program is named in the file, and not by $TOOL: what runs is part of the experiment"},
			{Field: "run[1]", Message: "it is not clear who is to read which $: write $$ for each that is not $B"},
			{Field: "run[2]", Message: "${C} is not read here: write $C for the value of the variable, or $${C} for the text as it is"}}},
		{"metrics", func(c *Config) {
			c.Read = []metric{
				{Name: "good", From: cpu, Unit: "s"},
				{Name: "Bad Name", From: cpu},
				{Name: "good", Regex: "a(b", JSON: "a"},
				{Name: "none"},
				{Name: "two-groups", Regex: "(a)(b)"},
				{Name: "path", JSON: "a..b"},
				{Name: "options", From: peakMemory, Unit: "MB", Output: stderr, Which: last},
				{Name: "headline", From: cpu, Scale: experiment.Difference, Headline: &yes},
			}
		}, []experiment.FieldError{
			{Field: "metrics[1].name", Message: `"Bad Name" is not a name of lower-case letters, digits and single dashes`},
			{Field: "metrics[2]", Message: `metric "good" has 2 of from, regex and json; it must have one`},
			{Field: "metrics[2].regex", Message: "\"a(b\" is not a regular expression: error parsing regexp: missing closing ): `a(b`"},
			{Field: "metrics[2].name", Message: `"good" is the name of metrics[0] too`},
			{Field: "metrics[3]", Message: `metric "none" has 0 of from, regex and json; it must have one`},
			{Field: "metrics[4].regex", Message: `"(a)(b)" has 2 groups; one (…) must enclose the number, others are written (?:…)`},
			{Field: "metrics[5].json", Message: `"a..b" is not a path such as results[0].p99: a name is missing`},
			{Field: "metrics[6].output", Message: `"stderr" is for metrics that are read from the output; this one is peak-memory`},
			{Field: "metrics[6].which", Message: `"last" is for metrics that are read from the output; this one is peak-memory`},
			{Field: "metrics[6].unit", Message: `"MB" is not the unit of peak-memory, which is B`},
			{Field: "metrics[7].headline", Message: "a metric on the scale difference cannot be a headline"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := config("true")
			if errs := c.validate(); len(errs) > 0 {
				t.Fatalf("the defaults are wrong: %v", errs)
			}
			test.change(c)
			if diff := cmp.Diff(test.want, c.validate()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParsePath(t *testing.T) {
	tests := []struct {
		text string
		want string
	}{
		{"a", `["a"]`},
		{".a.b", `["a"]["b"]`},
		{"$.a[0].b-c", `["a"][0]["b-c"]`},
		{`["a.b"][12]`, `["a.b"][12]`},
		{"[0]", "[0]"},
		{"$", "$"},
		{"", "$"},
		{"a.", `error: "a." is not a path such as results[0].p99: a name is missing`},
		{"a[", `error: "a[" is not a path such as results[0].p99: in [ ] stands a position, counted from 0`},
		{"a[-1]", `error: "a[-1]" is not a path such as results[0].p99: in [ ] stands a position, counted from 0`},
		{`a["b`, `error: "a[\"b" is not a path such as results[0].p99: ["…"] is not closed`},
		{"a]", `error: "a]" is not a path such as results[0].p99: unexpected "]"`},
	}
	for _, test := range tests {
		p, err := parsePath(test.text)
		got := p.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != test.want {
			t.Errorf("parsePath(%q):\ngot  %s\nwant %s", test.text, got, test.want)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, text := range []string{"a", "$.a[0].b", `["a.b"][12]`, "a..", `["\u00e9"]`, "]["} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePath(text)
		if err != nil {
			return
		}
		again, err := parsePath(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q: %s is read back as %s, %v", text, p, again, err)
		}
	})
}

func FuzzNumbers(f *testing.F) {
	f.Add([]byte(`{"results": [{"p99": 1.5}]}`), "results[0].p99")
	f.Add([]byte("1 2 3"), "$")
	f.Add([]byte(`[1e999]`), "[0]")
	f.Fuzz(func(t *testing.T, text []byte, where string) {
		if numbers, err := jsonNumbers(text, where); err == nil && len(numbers) == 0 {
			t.Error("no error and no number")
		}
		if where == "" {
			return // no metric has an empty path
		}
		var o output
		o.kept.Write(text)
		for _, which := range []choice{first, last, sum, mean} {
			v, err := metric{Name: "m", JSON: where, Which: which}.read(&o)
			if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
				t.Errorf("%s gave %v", which, v)
			}
		}
	})
}
