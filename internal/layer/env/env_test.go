package env

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m, Kind) }

func TestProofs(t *testing.T) {
	t.Setenv("TARE_TEST_SECRET", "hunter2")
	t.Setenv("TARE_TEST_PRESENT", "here")
	set := environ.Variables{"TARE_TEST_LEVEL": "debug", "TARE_TEST_TOKEN": "$TARE_TEST_SECRET", "TARE_TEST_DOLLAR": "$$5"}
	off := []layer.Check{
		{Layer: "env", Name: "variable TARE_TEST_DOLLAR", Expected: `not "$5"`, Observed: "not set", OK: true},
		{Layer: "env", Name: "variable TARE_TEST_LEVEL", Expected: `not "debug"`, Observed: "not set", OK: true},
		{Layer: "env", Name: "variable TARE_TEST_TOKEN", Expected: "not the value of $TARE_TEST_SECRET", Observed: "not set", OK: true},
	}
	on := []layer.Check{
		{Layer: "env", Name: "variable TARE_TEST_DOLLAR", Expected: `"$5"`, Observed: `"$5"`, OK: true},
		{Layer: "env", Name: "variable TARE_TEST_LEVEL", Expected: `"debug"`, Observed: `"debug"`, OK: true},
		{Layer: "env", Name: "variable TARE_TEST_TOKEN", Expected: "the value of $TARE_TEST_SECRET", Observed: "that value", OK: true},
	}
	site := localtest.Host(t)
	c := &config{Set: set}
	compare(t, off, off, c, site, on)
	for _, k := range append(on, off...) {
		if strings.Contains(fmt.Sprint(k), "hunter2") || strings.Contains(fmt.Sprint(k), hash("hunter2")) {
			t.Errorf("%+v shows the secret", k)
		}
	}
}

func compare(t *testing.T, off, again []layer.Check, c *config, site testbed.Site, on []layer.Check) {
	t.Helper()
	if diff := cmp.Diff(off, layertest.Off(t, c, site)); diff != "" {
		t.Errorf("off: %s", diff)
	}
	if diff := cmp.Diff(on, layertest.On(t, layertest.Up(t, c, site), site)); diff != "" {
		t.Errorf("on: %s", diff)
	}
	if diff := cmp.Diff(again, layertest.Off(t, c, site)); diff != "" {
		t.Errorf("off again: %s", diff)
	}
}

// A proof must fail if the variable exists without the layer, and if a subject does not get it although the layer is
// up.
func TestProofsFail(t *testing.T) {
	t.Setenv("TARE_TEST_LEVEL", "debug")
	t.Setenv("TARE_TEST_KEY", "k")
	site := localtest.Host(t)
	c := &config{Set: environ.Variables{"TARE_TEST_LEVEL": "debug", "TARE_TEST_KEY": "$TARE_TEST_KEY"}}
	want := []layer.Check{
		{Layer: "env", Name: "variable TARE_TEST_KEY", Expected: "not the value of $TARE_TEST_KEY", Observed: "that value"},
		{Layer: "env", Name: "variable TARE_TEST_LEVEL", Expected: `not "debug"`, Observed: `"debug"`},
	}
	if diff := cmp.Diff(want, layertest.Off(t, c, site)); diff != "" {
		t.Errorf("off: %s", diff)
	}

	t.Setenv("TARE_TEST_LEVEL", "info")
	t.Setenv("TARE_TEST_KEY", "other")
	t.Setenv("TARE_TEST_SECRET", "k")
	up := layertest.Up(t, &config{Set: environ.Variables{"TARE_TEST_LEVEL": "debug", "TARE_TEST_KEY": "$TARE_TEST_SECRET"}}, site)
	want = []layer.Check{
		{Layer: "env", Name: "variable TARE_TEST_KEY", Expected: "the value of $TARE_TEST_SECRET", Observed: "another value"},
		{Layer: "env", Name: "variable TARE_TEST_LEVEL", Expected: `"debug"`, Observed: "another value"},
	}
	if diff := cmp.Diff(want, layertest.On(t, up, stripped{site})); diff != "" {
		t.Errorf("on: %s", diff)
	}
}

// The value of a variable in Tare's environment may be a secret (DATABASE_URL), whatever value the experiment sets.
func TestProofsDoNotShowTheSurroundings(t *testing.T) {
	t.Setenv("TARE_TEST_URL", "db://user:hunter2@host")
	checks := layertest.Off(t, &config{Set: environ.Variables{"TARE_TEST_URL": "db://test"}}, localtest.Host(t))
	want := []layer.Check{{Layer: "env", Name: "variable TARE_TEST_URL", Expected: `not "db://test"`, Observed: "another value", OK: true}}
	if diff := cmp.Diff(want, checks); diff != "" {
		t.Error(diff)
	}
}

// stripped is a site that drops the variables that layers add.
type stripped struct{ testbed.Site }

func (s stripped) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	cmd.Env = cmd.Env[:1]
	return s.Site.Start(ctx, where, cmd)
}

// In an arm with its own layer of the kind, variables that this layer does not set are checked.
func TestBesideItsOwn(t *testing.T) {
	s := new(layer.Run).At(localtest.Host(t))
	s.Own = &config{Set: environ.Variables{"TARE_TEST_A": "1"}}
	other := &config{Set: environ.Variables{"TARE_TEST_A": "1", "TARE_TEST_B": "2"}}
	want := []layer.Check{{Layer: "env", Name: "variable TARE_TEST_B", Expected: `not "2"`, Observed: "not set", OK: true}}
	if got, err := other.ProveOff(t.Context(), s); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	t.Setenv("TARE_TEST_B", "2")
	if got, err := other.ProveOff(t.Context(), s); err != nil || len(got) != 1 || got[0].OK {
		t.Errorf("it is set: %+v, %v", got, err)
	}
	if got, err := (&config{Set: environ.Variables{"TARE_TEST_A": "2"}}).ProveOff(t.Context(), s); err != nil || got != nil {
		t.Errorf("another level: %+v, %v", got, err)
	}
	if len(other.Set) != 2 {
		t.Error("the layer was changed")
	}
}

func TestSubjectsGetTheVariables(t *testing.T) {
	site := localtest.Host(t)
	a := layertest.Up(t, &config{Set: environ.Variables{"TARE_TEST_A": "1 2"}}, site)
	for subject, want := range map[bool]string{true: "TARE_TEST_A=1 2\n", false: ""} {
		out, err := evidence.Output(t.Context(), layer.WithWrappers(site, a), testbed.Host, testbed.Command{
			Args: []string{"sh", "-c", "env | grep TARE_TEST_A; true"}, Subject: subject}, evidence.Limit)
		if err != nil || out != want {
			t.Errorf("subject %v: got %q, %v, want %q", subject, out, err, want)
		}
	}
}

func TestUpWithoutTheVariable(t *testing.T) {
	_, err := (&config{Set: environ.Variables{"A": "$TARE_TEST_NOT_SET"}}).Up(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "TARE_TEST_NOT_SET") {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		set  environ.Variables
		want []experiment.FieldError
	}{
		{nil, []experiment.FieldError{{Field: "set", Message: "there is no variable: the layer would do nothing"}}},
		{environ.Variables{"A": "1"}, nil},
		{environ.Variables{"A=": "1"}, []experiment.FieldError{{Field: "set.A=", Message: `"A=" is not the name of a variable: letters, digits and underscores`}}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, (&config{Set: test.set}).validate()); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzReportAnswers(f *testing.F) {
	f.Add([]byte(`{"A": {"set": true, "value": "1"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		seen := map[string]answer{}
		if json.Unmarshal(data, &seen) != nil {
			return
		}
		c := &config{Set: environ.Variables{"A": "1"}}
		on, off := c.check("A", "1", seen["A"], true), c.check("A", "1", seen["A"], false)
		if on.OK == off.OK {
			t.Errorf("on and off at the same time: %+v, %+v", on, off)
		}
	})
}

// pods is a site whose pods are processes of this machine with their own variable.
type pods struct{ testbed.Site }

func (pods) Self(testbed.Place) string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return self
}

func (p pods) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where == testbed.ServerPod {
		cmd.Env = append([]string{"TARE_TEST_LEVEL=debug"}, cmd.Env...)
	}
	return p.Site.Start(ctx, testbed.Host, cmd)
}

// The variables are checked where the subjects are started.
func TestInPods(t *testing.T) {
	site := pods{localtest.Host(t)}
	s := new(layer.Run).At(site, testbed.ClientPod, testbed.ServerPod)
	c := &config{Set: environ.Variables{"TARE_TEST_LEVEL": "debug"}}
	got, err := c.ProveOff(t.Context(), s)
	want := []layer.Check{
		{Layer: "env", Name: "variable TARE_TEST_LEVEL in the client-pod", Expected: `not "debug"`, Observed: "not set", OK: true},
		{Layer: "env", Name: "variable TARE_TEST_LEVEL in the server-pod", Expected: `not "debug"`, Observed: `"debug"`},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	up, err := c.Up(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got, err = up.Before(t.Context(), layer.WithWrappers(site, up))
	for i := range want {
		want[i].Expected, want[i].Observed, want[i].OK = `"debug"`, `"debug"`, true
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
