package layer

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// kept is a layer that counts calls in the state it keeps.
type kept struct{ name string }

func (*kept) Declare() experiment.Declaration                     { return experiment.Declaration{} }
func (*kept) Up(context.Context, *Session) (*Active, error)       { return nil, nil }
func (*kept) ProveOff(context.Context, *Session) ([]Check, error) { return nil, nil }

// Each layer keeps its own state, shared by all sites of a run.
func TestKept(t *testing.T) {
	run, one, other := new(Run), &kept{"one"}, &kept{"one"}
	*Kept[int](run.At(nil).Run, one)++
	*Kept[int](run.At(site{}).Run, one)++
	if got := *Kept[int](run, one); got != 2 {
		t.Errorf("kept %d, want 2", got)
	}
	if got := *Kept[int](run, other) + *Kept[int](new(Run), one); got != 0 {
		t.Errorf("another layer or another run has %d of it", got)
	}
}

// Parameters that the arm's own layer of the kind sets are left out, and keys of maps one by one.
func TestWithout(t *testing.T) {
	type params struct {
		kept
		Labels map[string]string
		Levels []int
		Flag   bool
		User   *int
	}
	c := &params{Labels: map[string]string{"a": "1", "b": "2"}, Levels: []int{1}, Flag: true, User: new(int)}
	if got := Without(c, nil); got != c {
		t.Errorf("without any: %+v", got)
	}
	got := Without(c, &params{Labels: map[string]string{"a": "9", "c": "3"}, Levels: []int{}, Flag: true})
	want := &params{Labels: map[string]string{"b": "2"}, Levels: []int{1}, User: c.User}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(params{}, kept{})); diff != "" {
		t.Error(diff)
	}
	if got := Without(c, &params{Levels: []int{2}, User: new(1)}); got.Levels != nil || got.User != nil || len(got.Labels) != 2 || len(c.Labels) != 2 {
		t.Errorf("got %+v of %+v", got, c)
	}
}

// site records the commands that it starts; its pods are somewhere else.
type site struct{ started *[]testbed.Command }

func (s site) Start(_ context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	*s.started = append(*s.started, cmd)
	return nil, nil
}

// remote is a site whose pods have a file system of their own.
type remote struct{ site }

func (remote) Self(where testbed.Place) string {
	if where == testbed.Host {
		return ""
	}
	return "/usr/bin/tare"
}

// A check is made once for all places on this machine, and in each pod elsewhere.
func TestEverywhere(t *testing.T) {
	pods := []testbed.Place{testbed.ClientPod, testbed.ServerPod, testbed.ClientPod}
	for _, test := range []struct {
		name   string
		site   testbed.Site
		places []testbed.Place
		want   []string
	}{
		{"here", site{}, pods, []string{"check"}},
		{"nowhere in particular", remote{}, nil, []string{"check"}},
		{"in pods", remote{}, pods, []string{"check in the client-pod", "check in the server-pod"}},
		{"both", WithWrappers(remote{}, &Active{Wrap: func(c testbed.Command) testbed.Command { return c }}), append(pods, testbed.Host), []string{"check in the client-pod", "check in the server-pod", "check"}},
	} {
		checks, err := new(Run).At(test.site, test.places...).Everywhere(func(testbed.Place) ([]Check, error) { return []Check{{Name: "check"}}, nil })
		var got []string
		for _, c := range checks {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", test.name, err, diff)
		}
	}
}

// Subjects go through all wrappers, the first layer innermost. A helper can stand behind any wrapper.
func TestDress(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	front := func(word string) *Active {
		return &Active{Wrap: func(c testbed.Command) testbed.Command {
			c.Args = append([]string{word}, c.Args...)
			return c
		}}
	}
	here, there := testbed.HelperAt(site{}, testbed.ClientPod, "x"), testbed.HelperAt(remote{}, testbed.ClientPod, "x")
	for _, test := range []struct {
		cmd  testbed.Command
		want []string
	}{
		{testbed.Command{Args: []string{"ls"}}, []string{"ls"}},
		{testbed.Command{Args: []string{"ls"}, Subject: true}, []string{"outer", "inner", "ls"}},
		{testbed.Command{Args: append(slices.Clone(here.Args), "a"), Env: here.Env, Subject: true}, []string{"outer", "inner", self, "TARE_HELPER=x", "a"}},
		{testbed.Command{Args: there.Args, Env: there.Env, Subject: true}, []string{"outer", "inner", "/usr/bin/tare", "TARE_HELPER=x"}},
		{testbed.Command{Args: here.Args, Env: here.Env}, []string{"/proc/self/exe"}},
	} {
		var started []testbed.Command
		if _, err := WithWrappers(site{&started}, front("inner"), &Active{}, front("outer")).Start(t.Context(), testbed.Host, test.cmd); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, started[0].Args); diff != "" {
			t.Errorf("%v: %s", test.cmd.Args, diff)
		}
	}
	// Starting by testbed.Wrapper gives the same command.
	wrappedSite, ok := testbed.As[testbed.Wrapper](WithWrappers(site{}, front("inner"), front("outer")))
	if !ok {
		t.Fatal("nothing tells what layers put in front")
	}
	wrapped, err := wrappedSite.Wrapped(testbed.ClientPod, testbed.Command{Args: []string{"ls"}})
	if err != nil || !slices.Equal(wrapped.Args, []string{"outer", "inner", "ls"}) {
		t.Errorf("%v, %v", wrapped.Args, err)
	}
	var started []testbed.Command
	hides, own := front("outer"), &Active{Wrap: func(c testbed.Command) testbed.Command {
		c.Args = append(testbed.HelperArguments("y"), c.Args...)
		return c
	}}
	hides.Hides = true
	cmd := testbed.Command{Args: here.Args, Env: here.Env, Subject: true}
	if _, err := WithWrappers(site{&started}, own, hides).Start(t.Context(), testbed.Host, cmd); err != nil {
		t.Fatal(err)
	}
	want := []string{"outer", "/proc/self/fd/3", "TARE_HELPER=y", "/proc/self/fd/3", "TARE_HELPER=x"}
	if diff := cmp.Diff(want, started[0].Args); diff != "" || len(started[0].Files) != 1 {
		t.Errorf("behind one that hides files, with %d handed in: %s", len(started[0].Files), diff)
	}
	if plain := (site{}); WithWrappers(plain, &Active{}) != testbed.Site(plain) {
		t.Error("a site without wrappers is dressed")
	}
}
