package compare

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
)

// namedRuns returns runs with odd names and arms.
func namedRuns() []Input {
	plan := func(arms ...string) *analysis.Run {
		p := &experiment.Plan{}
		for i, a := range arms {
			role := experiment.Treatment
			if i == 0 {
				role = experiment.Baseline
			}
			p.Arms = append(p.Arms, experiment.PlannedArm{Name: a, Role: role})
		}
		return &analysis.Run{Plan: p}
	}
	return []Input{
		{Name: "runs/a", Run: plan("plain", "wireguard", "seccomp[rules=8]", "image[tag=v1:2]")},
		{Name: "other/b/", Run: plan("plain", "istio=1.2")},
		{Name: "deep/a:1/a", Run: plan("base", "x")},
		{Name: "1", Run: plan("base")},
	}
}

func TestParseReference(t *testing.T) {
	for _, c := range []struct {
		text string
		want reference
		err  string
	}{
		{text: "runs/a", want: reference{1, "plain"}},
		{text: "2", want: reference{2, "plain"}},
		{text: "b", want: reference{2, "plain"}},
		{text: "b/", want: reference{2, "plain"}},
		{text: "other/b/:istio=1.2", want: reference{2, "istio=1.2"}},
		{text: "runs/a:image[tag=v1:2]", want: reference{1, "image[tag=v1:2]"}},
		{text: "deep/a:1/a:x", want: reference{3, "x"}},
		{text: "3:x", want: reference{3, "x"}},
		{text: "1", want: reference{4, "base"}}, // a directory takes precedence over a number
		{text: "a", err: `"a" is the name of runs 1 and 3; use the number`},
		{text: "2:nosuch", err: `run 2 (other/b/) has no arm "nosuch"; it has plain, istio=1.2`},
		{text: "5", err: `reference "5" names none of the runs; write RUN or RUN:ARM, where RUN is a directory, the last element of its path, or a number from 1 to 4`},
		{text: "", err: `reference "" names none of the runs; write RUN or RUN:ARM, where RUN is a directory, the last element of its path, or a number from 1 to 4`},
	} {
		got, err := ParseReference(c.text, namedRuns())
		if got != c.want || c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%q: %v, %v; want %v, %s", c.text, got, err, c.want, c.err)
		}
	}
}

func TestParseMatch(t *testing.T) {
	const none = " does not name two different treatments: run 1 has wireguard, seccomp[rules=8], image[tag=v1:2]; run 2 has istio=1.2; run 3 has x; run 4 has none"
	for _, c := range []struct {
		text string
		want match
		err  string
	}{
		{text: "wireguard=x", want: match{"wireguard", "x"}},
		{text: "seccomp[rules=8]=istio=1.2", want: match{"seccomp[rules=8]", "istio=1.2"}},
		{text: "wireguard", err: `match "wireguard": write OLD=NEW, two arms`},
		{text: "wireguard=wireguard", err: `match "wireguard=wireguard"` + none},
		{text: "plain=wireguard", err: `match "plain=wireguard"` + none},
		{text: "=", err: `match "="` + none},
	} {
		got, err := ParseMatch(c.text, namedRuns())
		if got != c.want || c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%q: %v, %v; want %v, %s", c.text, got, err, c.want, c.err)
		}
	}
}

// FuzzParse: for any text, the result names an existing arm.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"runs/a:wireguard", "1:", "::", "a=b=c", "wireguard=x", "deep/a:1/a", "\x1b[31m=\x00", "-1", "99999999999999999999"} {
		f.Add(s)
	}
	in := namedRuns()
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseReference(text, in); err == nil && in[r.Run-1].Run.Plan.Arm(r.Arm) == nil {
			t.Errorf("%q: %+v", text, r)
		}
		if m, err := ParseMatch(text, in); err == nil && m.Old+"="+m.New != text {
			t.Errorf("%q: %+v", text, m)
		}
	})
}
