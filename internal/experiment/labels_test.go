package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabelsOf(t *testing.T) {
	const sha = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
	for _, c := range []struct {
		given   []string
		environ map[string]string
		want    Labels
		err     string
	}{
		{},
		{environ: map[string]string{"GITHUB_SHA": sha}, want: Labels{"commit": sha}},
		{environ: map[string]string{"CI_COMMIT_SHA": sha, "GIT_COMMIT": "0000000"}, want: Labels{"commit": sha}},
		{environ: map[string]string{"GITHUB_SHA": "\x1b[31m"}},
		{environ: map[string]string{"GITHUB_SHA": sha}, given: []string{"commit=abc"}, want: Labels{"commit": "abc"}},
		{environ: map[string]string{"GITHUB_SHA": sha}, given: []string{"commit="}},
		{given: []string{"board=rpi 4=x", "firmware=1"}, want: Labels{"board": "rpi 4=x", "firmware": "1"}},
		{given: []string{"commit"}, err: `the label "commit" is not NAME=VALUE`},
		{given: []string{"A=1"}, err: `the label "A=1" is not NAME=VALUE`},
		{given: []string{"a=1", "a=2"}, err: "the label a is given twice"},
		{given: []string{"a=\x1b[31m"}, err: "holds a character that cannot be printed"},
		{given: []string{"token=hunter2"}, err: "the label token looks like a secret, which would be kept in the run"},
		{given: []string{"how=curl -u me:hunter2 x"}, err: "the label how looks like a secret"},
		{given: []string{"url=https://me:hunter2@h"}, err: "the label url looks like a secret"},
		{given: []string{"a=" + strings.Repeat("x", 101)}, err: "longer than 100 bytes"},
	} {
		got, err := LabelsOf(c.given, func(name string) string { return c.environ[name] })
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: the error is %v, want %q", c.given, err, c.err)
		case err == nil:
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q with %v (-want +got):\n%s", c.given, c.environ, diff)
			}
		}
	}
	if got := (Labels{"board": "x", "commit": "y", "a": "z"}).Names(); !cmp.Equal(got, []string{"commit", "a", "board"}) {
		t.Errorf("the names are %v", got)
	}
}

func FuzzLabels(f *testing.F) {
	f.Add("commit=abc", "1a2b3c4d")
	f.Fuzz(func(t *testing.T, given, sha string) {
		labels, err := LabelsOf([]string{given}, func(string) string { return sha })
		for name, value := range labels {
			if err != nil || name == "" || value == "" || len(value) > longestLabel {
				t.Errorf("%q, %q: label %q is %q", given, sha, name, value)
			}
		}
	})
}
