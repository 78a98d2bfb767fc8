package evidence

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestState(t *testing.T) {
	failed := &testbed.ExitError{Args: []string{"x"}, Code: 1}
	killed := &testbed.ExitError{Args: []string{"x"}, Code: -1, Signal: "killed"}
	tests := []struct {
		name     string
		patterns Patterns
		text     string
		failed   error
		want     State
	}{
		{"on", Patterns{On: "Wireguard"}, "Encryption: Wireguard\n", nil, On},
		{"off by silence", Patterns{On: "Wireguard"}, "Encryption: Disabled\n", nil, Off},
		{"a line", Patterns{On: "^yes$"}, "no\nyes\n", nil, On},
		{"silence of a program that failed", Patterns{On: "Wireguard"}, "", failed, Unclear},
		{"on, but the program failed", Patterns{On: "Wireguard"}, "Wireguard", failed, Unclear},
		{"off by name", Patterns{On: "Wireguard", Off: "Disabled"}, "Disabled", nil, Off},
		{"off by name, although the program failed", Patterns{On: "Wireguard", Off: "Disabled"}, "Disabled", failed, Off},
		{"off by name, but it was killed", Patterns{On: "Wireguard", Off: "Disabled"}, "Disabled", killed, Unclear},
		{"off by name, but it was not started", Patterns{On: "Wireguard", Off: "Disabled"}, "Disabled", errors.New("no such file"), Unclear},
		{"neither", Patterns{On: "Wireguard", Off: "Disabled"}, "IPsec", nil, Unclear},
		{"both", Patterns{On: "Wireguard", Off: "Disabled"}, "Wireguard Disabled", nil, Unclear},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.patterns.State(test.text, test.failed); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	p := Patterns{On: "a", Off: "b"}
	got := []layer.Check{
		p.Check("proof", "x", On, "a\n", nil),
		p.Check("proof", "x", Off, "a\x1b[31m", nil),
		p.Check("proof", "x", Off, "", &testbed.ExitError{Args: []string{"ls"}, Code: 2, Stderr: "no\x1b such"}),
		Patterns{On: "a"}.Check("proof", "x", On, strings.Repeat("b", 200), nil),
		Patterns{On: "a"}.Check("proof", "x", Off, "b", nil),
	}
	want := []layer.Check{
		{Layer: "proof", Name: "x", Expected: "to match a, and not b", Observed: `"a\n"`, OK: true},
		{Layer: "proof", Name: "x", Expected: "to match b, and not a", Observed: `"a\x1b[31m"`},
		{Layer: "proof", Name: "x", Expected: "to match b, and not a", Observed: `""; ls: exit status 2: no such`},
		{Layer: "proof", Name: "x", Expected: "to match a", Observed: `"` + strings.Repeat("b", 160) + `" and 40 more bytes`},
		{Layer: "proof", Name: "x", Expected: "not to match a", Observed: `"b"`, OK: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutput(t *testing.T) {
	site := localtest.Host(t)
	run := func(limit time.Duration, script string) (string, error) {
		return Output(t.Context(), site, testbed.Host, testbed.Command{Args: []string{"sh", "-c", script}}, limit)
	}
	if text, err := run(Limit, "echo out; echo err >&2"); text != "out\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := run(Limit, "yes | head -c 3000000"); len(text) != outputRead || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if text, err := run(Limit, "echo out; echo first >&2; yes | head -c 1000 >&2; printf 'last\\342\\200\\256\\033' >&2; exit 3"); text != "out\n" ||
		err == nil || !strings.HasSuffix(err.Error(), `last\u202e`) || !strings.Contains(err.Error(), ": exit status 3: …") || strings.Contains(err.Error(), "first\n") {
		t.Errorf("%q, %v", text, err)
	}
	_, err := run(10*time.Millisecond, "exec sleep 60")
	if want := "sh -c 'exec sleep 60': not finished within 10ms: "; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		patterns Patterns
		want     []experiment.FieldError
	}{
		{Patterns{On: "a", Off: "b"}, nil},
		{Patterns{On: "a", Off: "^$"}, nil},
		{Patterns{On: "[", Off: "("}, []experiment.FieldError{
			{Field: "check.on", Message: "\"[\" is not a regular expression: error parsing regexp: missing closing ]: `[`"},
			{Field: "check.off", Message: "\"(\" is not a regular expression: error parsing regexp: missing closing ): `(?m)(`"},
		}},
		{Patterns{On: "a*"}, []experiment.FieldError{{Field: "check.on", Message: `"a*" matches even if nothing is printed, and so proves nothing`}}},
		{Patterns{On: "a", Off: "a"}, []experiment.FieldError{{Field: "check.off", Message: "off is the same as on, so that one output would show both"}}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, test.patterns.Validate("check.")); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzState(f *testing.F) {
	f.Add("on", "off", "on", true)
	f.Add("a|b", "", "c", false)
	f.Fuzz(func(t *testing.T, on, off, text string, fails bool) {
		p := Patterns{On: on, Off: off}
		if p.Validate("") != nil {
			return
		}
		var failed error
		if fails {
			failed = &testbed.ExitError{Args: []string{text}, Code: 1, Stderr: text}
		}
		asOn, asOff := p.Check("proof", "x", On, text, failed), p.Check("proof", "x", Off, text, failed)
		if asOn.OK && asOff.OK {
			t.Errorf("on and off at the same time: %+v %+v", asOn, asOff)
		}
		for _, r := range asOn.Observed {
			if r < ' ' || r == 0x7f {
				t.Errorf("%q holds the control character %U", asOn.Observed, r)
			}
		}
		if !utf8.ValidString(asOn.Observed) {
			t.Errorf("%q is not UTF-8", asOn.Observed)
		}
	})
}
