package toggle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// lamp returns a switch that writes on or off to a file.
func lamp(t *testing.T) (*config, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lamp")
	set(t, file, "off")
	c := Kind.New().(*config)
	c.On = []reference.Arguments{{"sh", "-c", "echo on >$LAMP"}}
	c.Off = []reference.Arguments{{"sh", "-c", "echo off >$LAMP"}}
	c.Check = check{Run: []string{"sh", "-c", "echo it is $(cat $LAMP)"}, On: "is on$", Off: "is off$"}
	c.Env = environ.Variables{"LAMP": file}
	c.Limit = quantity.Duration(time.Hour)
	return c, file
}

// session returns a session of a run on this machine.
func session(t *testing.T, run *layer.Run) *layer.Session {
	t.Helper()
	return run.At(localtest.Host(t))
}

func set(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

const look = "sh -c 'echo it is $(cat $LAMP)'"

func on(observed string, ok bool) layer.Check {
	return layer.Check{Layer: name, Name: look, Expected: "to match is on$, and not is off$", Observed: observed, OK: ok}
}

func off(observed string, ok bool) layer.Check {
	return layer.Check{Layer: name, Name: look, Expected: "to match is off$, and not is on$", Observed: observed, OK: ok}
}

func TestSwitching(t *testing.T) {
	c, file := lamp(t)
	up := layertest.Up(t, c, localtest.Host(t))
	found := off(`"it is off\n"`, true)
	found.Name += " before the run"
	if diff := cmp.Diff([]layer.Check{found}, up.Proofs); diff != "" {
		t.Error(diff)
	}
	if state(t, file) != "off" {
		t.Errorf("after Up it is %s", state(t, file))
	}
	for range 2 {
		expect(t, on(`"it is off\n"`, false), layertest.Before(t, up, nil))
		turn(t, up.Switch.On, up.Switch.On)
		expect(t, on(`"it is on\n"`, true), layertest.Before(t, up, nil))
		expect(t, off(`"it is on\n"`, false), layertest.Off(t, c, localtest.Host(t)))
		turn(t, up.Switch.Off, up.Switch.Off)
		expect(t, off(`"it is off\n"`, true), layertest.Off(t, c, localtest.Host(t)))
	}
	turn(t, up.Switch.On, up.Down)
	if state(t, file) != "off" {
		t.Errorf("after Down it is %s", state(t, file))
	}
}

func turn(t *testing.T, steps ...func(context.Context) error) {
	t.Helper()
	for _, step := range steps {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func expect(t *testing.T, want layer.Check, got []layer.Check) {
	t.Helper()
	if diff := cmp.Diff([]layer.Check{want}, got); diff != "" {
		t.Error(diff)
	}
}

// A switch that is on before the run is left on.
func TestFoundOn(t *testing.T) {
	c, file := lamp(t)
	set(t, file, "on")
	_, err := c.Up(t.Context(), session(t, new(layer.Run)))
	want := "the switch is on already, and this run has not turned it on (" + look + `: observed "it is on\n"): ` +
		"turn it off first if nobody needs it, or set found: restore, so that it is off during the run and on again after it; tare clean lists switches that killed runs have left on"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if state(t, file) != "on" {
		t.Errorf("it is %s", state(t, file))
	}
}

func TestFoundOnAndTurnedOff(t *testing.T) {
	c, file := lamp(t)
	c.Found = restore
	owed := &ledger{}
	run := layer.NewRun(owed)
	set(t, file, "on")
	first, err := c.Up(t.Context(), session(t, run))
	if err != nil {
		t.Fatal(err)
	}
	want := off(`"it is off\n"`, true)
	want.Name += " before the run"
	want.Caveat = "the switch was on before the run and was turned off; it is turned on again after the run"
	if diff := cmp.Diff([]layer.Check{want}, first.Proofs); diff != "" {
		t.Error(diff)
	}
	second, err := c.Up(t.Context(), session(t, run))
	if err != nil {
		t.Fatal(err)
	}
	turn(t, second.Switch.On, first.Down, first.Down)
	if state(t, file) != "on" { // the second site still needs it on
		t.Errorf("after Down at one site it is %s", state(t, file))
	}
	owed.expect(t, "on") // the entry says on even while the switch is on, since it was on before the run
	turn(t, second.Down, second.Down)
	if state(t, file) != "on" {
		t.Errorf("after the run it is %s", state(t, file))
	}
	owed.expect(t)
}

// A switch that cannot be turned off is left as it was found.
func TestFoundOnAndStays(t *testing.T) {
	c, file := lamp(t)
	set(t, file, "on")
	c.Found = restore
	c.Off = append(c.Off, []string{"false"})
	if _, err := c.Up(t.Context(), session(t, new(layer.Run))); err == nil || err.Error() != "turn it off: false: exit status 1" {
		t.Errorf("error %v", err)
	}
	if state(t, file) != "on" {
		t.Errorf("it is %s", state(t, file))
	}
}

// The switch is on during the whole run, at any number of sites.
func TestNotExclusiveAtTwoSites(t *testing.T) {
	c, file := lamp(t)
	c.Exclusive = false
	run := new(layer.Run)
	first, errFirst := c.Up(t.Context(), session(t, run))
	second, errSecond := c.Up(t.Context(), session(t, run))
	if err := errors.Join(errFirst, errSecond); err != nil {
		t.Fatal(err)
	}
	turn(t, first.Down)
	if state(t, file) != "on" {
		t.Errorf("after Down at one site it is %s", state(t, file))
	}
	turn(t, second.Down)
	if state(t, file) != "off" {
		t.Errorf("after the run it is %s", state(t, file))
	}
}

func TestNotExclusive(t *testing.T) {
	c, file := lamp(t)
	c.Exclusive = false
	up := layertest.Up(t, c, localtest.Host(t))
	if state(t, file) != "on" || up.Switch != nil {
		t.Errorf("after Up it is %s", state(t, file))
	}
	turn(t, up.Down, up.Down)
	if state(t, file) != "off" {
		t.Errorf("after Down it is %s", state(t, file))
	}
}

// The check decides when the switch is on, and not the end of the commands.
func TestWaitsForTheCheck(t *testing.T) {
	c, file := lamp(t)
	// The third check turns the light on.
	c.On = []reference.Arguments{{"sh", "-c", "echo asked >$LAMP"}}
	c.Check.Run = []string{"sh", "-c", `read s <$LAMP; case $s in asked) echo 1 >$LAMP;; 1) echo on >$LAMP;; esac; echo it is $s`}
	up := layertest.Up(t, c, localtest.Host(t))
	turn(t, up.Switch.On)
	if state(t, file) != "on" {
		t.Errorf("it is %s", state(t, file))
	}
}

// hangs is a site where sleep starts only after the timeout.
type hangs struct{ testbed.Site }

func (h hangs) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if cmd.Args[0] == "sleep" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Site.Start(ctx, where, cmd)
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name   string
		change func(*config)
		want   string // result of Up and On together
		state  string // state afterwards
	}{
		{"no such program", func(c *config) { c.Off = []reference.Arguments{{"tare-test-no-such-program"}} },
			`find the program of a command: exec: "tare-test-no-such-program": executable file not found in $PATH`, "off"},
		{"neither on nor off", func(c *config) { c.Check.Run = []string{"echo", "dim"} },
			`the check's output matches neither on nor off: echo dim: expected to match is off$, and not is on$, observed "dim\n"`, "off"},
		{"a command fails", func(c *config) { c.On = append(c.On, []string{"sh", "-c", "echo no >&2; exit 3"}) },
			"turn it on: sh -c 'echo no >&2; exit 3': exit status 3: no", "off"},
		{"it has no effect", func(c *config) {
			c.On = []reference.Arguments{{"true"}}
			c.Limit = quantity.Duration(3 * time.Second)
		}, "turn the switch on: " + look + ` does not show this state within 3s: expected to match is on$, and not is off$, observed "it is off\n"`, "off"},
		{"it hangs", func(c *config) {
			c.On = []reference.Arguments{{"sleep", "60"}}
			c.Limit = quantity.Duration(3 * time.Second)
		}, "turn it on: sleep 60: not finished within 3s", "off"},
		{"it cannot be turned off", func(c *config) {
			c.On = append(c.On, []string{"false"})
			c.Off = []reference.Arguments{{"false"}}
		}, "turn it on: false: exit status 1\nturn it off: false: exit status 1", "on"},
		{"no cluster", func(c *config) { c.On = []reference.Arguments{{"echo", "$(TARE_CONTEXT)"}} },
			"turn it on: $(TARE_CONTEXT) is not known here: it needs a cluster", "off"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock does not advance while a program runs
				c, file := lamp(t)
				test.change(c)
				up, err := c.Up(t.Context(), new(layer.Run).At(hangs{localtest.Host(t)}))
				if err == nil {
					err = up.Switch.On(t.Context())
				}
				if err == nil || err.Error() != test.want {
					t.Errorf("got  %v\nwant %s", err, test.want)
				}
				if got := state(t, file); got != test.state {
					t.Errorf("it is %s", got)
				}
			})
		})
	}
}

func TestValidate(t *testing.T) {
	good := func() *config {
		c := Kind.New().(*config)
		c.On, c.Off = []reference.Arguments{{"a", "$(TARE_CONTEXT)"}}, []reference.Arguments{{"b"}}
		c.Check = check{Run: []string{"c"}, On: "on"}
		return c
	}
	tests := []struct {
		name   string
		change func(*config)
		want   []experiment.FieldError
	}{
		{"good", func(*config) {}, nil},
		{"nothing", func(c *config) { *c = config{} }, []experiment.FieldError{
			{Field: "on", Message: "there is no command"}, {Field: "off", Message: "there is no command"},
			{Field: "check.run", Message: "no program is given: write it as a list, [program, argument…]"}}},
		{"empty command", func(c *config) { c.On = append(c.On, nil) }, []experiment.FieldError{
			{Field: "on[1]", Message: "no program is given: write it as a list, [program, argument…]"}}},
		{"placeholder", func(c *config) { c.Off[0] = append(c.Off[0], "$(TARE_ARM)") }, []experiment.FieldError{
			{Field: "off[0]", Message: "$(TARE_ARM) is not known here: known is $(TARE_CONTEXT), $(TARE_NAMESPACE)"}}},
		{"check that always matches", func(c *config) { c.Check.On = ".*" }, []experiment.FieldError{
			{Field: "check.on", Message: `".*" matches even if nothing is printed, and so proves nothing`}}},
		{"settle without switching", func(c *config) { c.Exclusive, c.Settle = false, 1 }, []experiment.FieldError{
			{Field: "settle", Message: "with exclusive: false the switch stays on during the whole run, so there is nothing to wait for"}}},
		{"variables", func(c *config) { c.Env = environ.Variables{"TARE_CONTEXT": "x", "A B": "c"} }, []experiment.FieldError{
			{Field: "env.A B", Message: `"A B" is not the name of a variable: letters, digits and underscores`},
			{Field: "env.TARE_CONTEXT", Message: "TARE_CONTEXT is set by Tare"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := good()
			test.change(c)
			if diff := cmp.Diff(test.want, c.validate()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, good().programs()); diff != "" {
		t.Error(diff)
	}
}

// Another arm's switch is off at a site whose arm has its own switch, unless both are the same.
func TestProveOffBeside(t *testing.T) {
	other, file := lamp(t)
	own, _ := lamp(t)
	own.Check.Run = []string{"echo", "it is on"}
	set(t, file, "on")
	s := session(t, new(layer.Run))
	s.Own = own
	got, err := other.ProveOff(t.Context(), s)
	if diff := cmp.Diff([]layer.Check{off(`"it is on\n"`, false)}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	own.Check = other.Check
	if got, err := other.ProveOff(t.Context(), s); err != nil || got != nil {
		t.Errorf("the same switch: %+v (%v)", got, err)
	}
}
