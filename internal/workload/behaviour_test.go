package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
)

// Lines that differ only in numbers and directories are of one kind.
func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"sh: 1: cannot create /dev/null: Permission denied", "sh: 22: cannot create /dev/null: Permission denied", true},
		{"job[417]: took 1.25s", "job[9]: took 13.5s", true},
		{"open /tmp/tare-12/x/cache: no such file", "open /run/user/cache: no such file", true},
		{"at 0x7ffe12ab", "at 0xdeadbeef1", true},
		{"cannot open cache", "cannot open log", false},
		{"/dev/null: Permission denied", "/dev/zero: Permission denied", false},
	} {
		if a, b := KindOf(experiment.Stderr, c.a), KindOf(experiment.Stderr, c.b); (a == b) != c.same {
			t.Errorf("%q and %q: %q and %q", c.a, c.b, a, b)
		}
	}
	if KindOf(experiment.Exit, "1") == KindOf(experiment.Exit, "2") {
		t.Error("exit statuses 1 and 2 are of one kind")
	}
}

// A listener counts all output and keeps the first line of each kind, however the output is cut into pieces.
func TestListener(t *testing.T) {
	const text = "begin\n 1 %\r 2 %\r 3 %\nwarning: x\n\nend"
	want := Observation{Marks: []string{"begin", " 1 %", "warning: x", "end"}, Bytes: int64(len(text)), Lines: 7, Runs: 1}
	for _, size := range []int{1, 3, len(text)} {
		l := Listener{Keep: true}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if got, err := l.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, l.Seen()); diff != "" {
			t.Errorf("by %d bytes: %s", size, diff)
		}
	}
	quiet := Listener{}
	fmt.Fprint(&quiet, "a\nb\rc\n")
	if got := quiet.Seen(); got.Lines != 2 || got.Marks != nil {
		t.Errorf("%+v", got)
	}
	many := Listener{Keep: true}
	for i := range 100 {
		fmt.Fprintln(&many, strings.Repeat("x", i+1))
	}
	fmt.Fprint(&many, strings.Repeat("y", 1<<20))
	if got := many.Seen(); len(got.Marks) != MostMarks || got.Lines != 101 {
		t.Errorf("%d marks, %d lines", len(got.Marks), got.Lines)
	}
}
