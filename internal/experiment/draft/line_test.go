package draft_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/experiment/draft"
	"tare/internal/layer/program"
	"tare/internal/layer/wrap"
	"tare/internal/workload/command"
)

// loaded returns the experiment of a command line.
func loaded(t *testing.T, took time.Duration, args, layers []string) *experiment.Experiment {
	t.Helper()
	asked, err := draft.Parse("tare run", args, layers)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, k := range catalog.Layers {
		kinds = append(kinds, k.Name)
	}
	data, err := asked.File(took, kinds)
	if err != nil {
		t.Fatal(err)
	}
	x, err := experiment.Load("line.yaml", data, catalog.Kinds())
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return x
}

func arms(x *experiment.Experiment) (names []string) {
	for _, a := range x.Arms {
		names = append(names, a.Name)
	}
	return names
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		args []string
		arms []string
		runs [][]string // the started commands, by arm
	}{
		{[]string{"gzip -1 big", "/usr/bin/zstd -1 big"}, []string{"gzip", "zstd"}, [][]string{{"gzip", "-1", "big"}, {"/usr/bin/zstd", "-1", "big"}}},
		{[]string{"gzip -1 big", "gzip -9 big"}, []string{"gzip-1-big", "gzip-9-big"}, [][]string{{"gzip", "-1", "big"}, {"gzip", "-9", "big"}}},
		{[]string{"fast=gzip -1 <big", "slow=gzip -9 <big"}, []string{"fast", "slow"}, [][]string{{"/bin/sh", "-c", "gzip -1 <big"}, {"/bin/sh", "-c", "gzip -9 <big"}}},
		{[]string{"true", "true"}, []string{"true", "true-2"}, [][]string{{"true"}, {"true"}}},
		{[]string{"control", "./a.out 7 0x1 on null"}, []string{"control-2", "a-out"}, [][]string{{"control"}, {"./a.out", "7", "0x1", "on", "null"}}},
		{[]string{"X=1 env", "env"}, []string{"x-1", "env"}, [][]string{{"/bin/sh", "-c", "X=1 env"}, {"/bin/sh", "-c", "exec env"}}},
		{[]string{"echo ~", "echo *"}, []string{"echo", "echo-2"}, [][]string{{"/bin/sh", "-c", "echo ~"}, {"/bin/sh", "-c", "echo *"}}},
	} {
		x := loaded(t, time.Second, c.args, nil)
		if !reflect.DeepEqual(arms(x), c.arms) {
			t.Errorf("%q: arms %q, want %q", c.args, arms(x), c.arms)
		}
		own := x.Workloads[0].Config.(*command.Config)
		got := [][]string{program.Text(own.Command, own.Shell)}
		for _, a := range x.Arms[1:] {
			p := a.Layers[0].Config.(*program.Config)
			got = append(got, program.Text(p.Command, p.Shell))
		}
		if !reflect.DeepEqual(got, c.runs) {
			t.Errorf("%q: starts %q, want %q", c.args, got, c.runs)
		}
	}
}

func TestLayers(t *testing.T) {
	x := loaded(t, time.Second, []string{"./bench", "a b", "--fast"}, []string{"bwrap --ro-bind / / --", "seccomp", "landlock: {rules: 8}", `nice -n "5"`})
	if want := []string{"bench", "bwrap", "seccomp", "landlock", "nice"}; !reflect.DeepEqual(arms(x), want) {
		t.Errorf("arms %q", arms(x))
	}
	if got := x.Workloads[0].Config.(*command.Config).Command; !reflect.DeepEqual([]string(got), []string{"./bench", "a b", "--fast"}) {
		t.Errorf("starts %q", got)
	}
	if got := x.Arms[1].Layers[0].Config.(*wrap.Config).Run; !reflect.DeepEqual([]string(got), []string{"bwrap", "--ro-bind", "/", "/", "--"}) {
		t.Errorf("in front %q", got)
	}
	if got := x.Arms[4].Layers[0].Config.(*wrap.Config).Run; !reflect.DeepEqual([]string(got), []string{"/bin/sh", "-c", `exec nice -n "5" "$@"`, "sh"}) {
		t.Errorf("in front %q", got)
	}
}

// Every arm except the first lists the aspects in which programs may differ.
func TestAllow(t *testing.T) {
	asked, err := draft.Parse("tare run", []string{"a", "b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked.Allow = []string{"stderr", "exit"}
	data, err := asked.File(time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := experiment.Load("line.yaml", data, catalog.Kinds())
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if x.Arms[0].Allow != nil || len(x.Arms[1].Allow) != 2 {
		t.Errorf("%v, %v", x.Arms[0].Allow, x.Arms[1].Allow)
	}
	e, err := experiment.Expand(x, "")
	if err != nil || e.Plan.Arms[0].OtherProgram || !e.Plan.Arms[2].OtherProgram {
		t.Errorf("%v, %+v", err, e.Plan.Arms)
	}
}

// Short programs are measured in slices, as far as there is time.
func TestSlices(t *testing.T) {
	for took, want := range map[time.Duration]experiment.Slices{time.Millisecond: 8, 100 * time.Millisecond: 2, time.Second: 0, time.Hour: 0} {
		if got := loaded(t, took, []string{"a", "b"}, nil).Design.Slices; got != want {
			t.Errorf("%v: %v slices, want %v", took, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, args := range map[string][]string{"nothing to be compared": {"true"}, "no program": nil, "is empty": {"true", " "}, "zero byte": {"a\x00b", "true"}} {
		if _, err := draft.Parse("", args, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// The file contains exactly the programs on the command line, for any text.
func FuzzLine(f *testing.F) {
	f.Add("gzip -1 big", "zstd")
	f.Add("a: b # c", "- [x] {y}")
	f.Add("'\"\\ \t", "1e3 0x7 ~ true")
	f.Fuzz(func(t *testing.T, a, b string) {
		asked, err := draft.Parse(a+b, []string{a, b}, nil)
		if err != nil {
			return
		}
		data, err := asked.File(time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, err := experiment.Load("line.yaml", data, catalog.Kinds())
		if err != nil {
			t.Skip() // the file would hold forbidden text: a reference, a secret, a control character
		}
		own := x.Workloads[0].Config.(*command.Config)
		if got := program.Text(own.Command, own.Shell); !reflect.DeepEqual([]string(got), asked.Programs[0].Start()) {
			t.Errorf("%q became %q", asked.Programs[0].Start(), got)
		}
	})
}
