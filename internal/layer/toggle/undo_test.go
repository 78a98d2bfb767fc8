package toggle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/testbed/local/localtest"
)

// ledger keeps a run's undo entries in memory.
type ledger struct {
	list []layer.Undo
	full error // error of Owe
}

func (l *ledger) NoteUndo(u layer.Undo) error {
	if l.full != nil {
		return l.full
	}
	_ = l.Undone(u.Key)
	l.list = append(l.list, u)
	return nil
}

func (l *ledger) Undone(key string) error {
	l.list = slices.DeleteFunc(l.list, func(u layer.Undo) bool { return u.Key == key })
	return nil
}

// expect compares the states to be restored.
func (l *ledger) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, u := range l.list {
		got = append(got, u.To)
	}
	if !slices.Equal(got, want) {
		t.Errorf("owed: %q, want %q", got, want)
	}
}

// The entry is written before the switch is turned, and another process restores the state from the entry alone.
func TestUndo(t *testing.T) {
	for _, test := range []struct {
		name   string
		found  found
		before string
		killed func(*layer.Active) []func() error // steps until the process is killed
		owed   []string
	}{
		{"not turned yet", refuse, "off", func(*layer.Active) []func() error { return nil }, nil},
		{"on", refuse, "off", func(up *layer.Active) []func() error {
			return []func() error{func() error { return up.Switch.On(t.Context()) }}
		}, []string{"off"}},
		{"off between trials", refuse, "off", func(up *layer.Active) []func() error {
			return []func() error{func() error { return up.Switch.On(t.Context()) }, func() error { return up.Switch.Off(t.Context()) }}
		}, nil},
		{"found on, off for the run", restore, "on", func(*layer.Active) []func() error { return nil }, []string{"on"}},
		{"found on, off between trials", restore, "on", func(up *layer.Active) []func() error {
			return []func() error{func() error { return up.Switch.On(t.Context()) }, func() error { return up.Switch.Off(t.Context()) }}
		}, []string{"on"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, file := lamp(t)
			c.Found = test.found
			set(t, file, test.before)
			var owed ledger
			up, err := c.Up(t.Context(), session(t, layer.NewRun(&owed)))
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range test.killed(up) {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			owed.expect(t, test.owed...)
			for range 2 { // undoing twice has the same result
				for _, u := range owed.list {
					if err := Kind.Undo(t.Context(), localtest.Host(t), u); err != nil {
						t.Fatal(err)
					}
				}
				if state(t, file) != test.before {
					t.Errorf("it is %s, and was %s", state(t, file), test.before)
				}
			}
		})
	}
}

// A switch is not turned if the entry cannot be written.
func TestCannotBeNoted(t *testing.T) {
	c, file := lamp(t)
	owed := &ledger{full: errors.New("the disk is full")}
	up, err := c.Up(t.Context(), session(t, layer.NewRun(owed)))
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Switch.On(t.Context()); !errors.Is(err, owed.full) || state(t, file) != "off" {
		t.Errorf("it is %s, %v", state(t, file), err)
	}
	c.Found = restore
	set(t, file, "on")
	if _, err := c.Up(t.Context(), session(t, layer.NewRun(owed))); !errors.Is(err, owed.full) || state(t, file) != "on" {
		t.Errorf("found on: it is %s, %v", state(t, file), err)
	}
}

// The commands run in the same directory, with the same kubeconfig and variables. Values of variables are not written
// down.
func TestUndoElsewhere(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	t.Setenv("KUBECONFIG", "mine.yaml")
	t.Setenv("MY_TOKEN", "hunter2")
	c, _ := lamp(t)
	c.Env["TOKEN"] = "$MY_TOKEN"
	c.Off = []reference.Arguments{{"sh", "-c", "echo $TOKEN $KUBECONFIG >said; echo off >$LAMP"}}
	var owed ledger
	up, err := c.Up(t.Context(), session(t, layer.NewRun(&owed)))
	if err != nil {
		t.Fatal(err)
	}
	turn(t, up.Switch.On)
	t.Chdir(t.TempDir())
	t.Setenv("KUBECONFIG", "another.yaml")
	u := owed.list[0]
	if strings.Contains(string(u.How), "hunter2") {
		t.Errorf("a secret is written down: %s", u.How)
	}
	if err := Kind.Undo(t.Context(), localtest.Host(t), u); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(here, "said")); string(text) != "hunter2 mine.yaml\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Unsetenv("MY_TOKEN"); err != nil {
		t.Fatal(err)
	}
	err = Kind.Undo(t.Context(), localtest.Host(t), u)
	if want := "the experiment takes MY_TOKEN from the environment, where it is not set"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
