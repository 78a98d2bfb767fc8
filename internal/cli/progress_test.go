package cli

import (
	"strings"
	"testing"
)

// A live line that wraps cannot be replaced and stays on the screen.
func TestStatusIsCutToTheTerminal(t *testing.T) {
	for _, test := range []struct {
		columns   int
		text      string
		want, pad string
	}{
		{0, "0123456789", "0123456789", ""},
		{11, "0123456789", "0123456789", ""},
		{10, "0123456789", "01234567…", ""},
		{10, "", "", "         "},
		{1, "0123456789", "…", ""},
	} {
		var out strings.Builder
		p := newProgress(State{screen: &out, StderrTerminal: true, Columns: func() int { return test.columns }}, "", false)
		p.last = len(test.pad)
		p.status(test.text)
		if want := "\r" + test.want + test.pad + "\r" + test.want; out.String() != want {
			t.Errorf("%d columns: %q, want %q", test.columns, out.String(), want)
		}
	}
}
