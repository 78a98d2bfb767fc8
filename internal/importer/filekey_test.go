package importer

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
)

func TestParseFactor(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"mtu=mtu-([0-9]+)", ""},
		{"mtu=a=(.)", ""},
		{"mtu", `cannot read the factor "mtu": it is NAME=EXPRESSION`},
		{"=x", `cannot read the factor "=x": it is NAME=EXPRESSION`},
		{"mtu=", `cannot read the factor "mtu=": it is NAME=EXPRESSION`},
		{"mtu=(", "cannot read the factor mtu: error parsing regexp"},
		{"mtu=mtu-[0-9]+", "cannot read the factor mtu: it has 0 groups where one is needed"},
		{"m\x1b[2J=(.)", "the name of the factor holds a character that cannot be printed"},
	} {
		_, err := ParseFactor(c.text)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestPlaced(t *testing.T) {
	f, err := ParseFactor("mtu=mtu-([0-9]+)")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Factors: []pathFactor{f}}
	files := []inputFile{{path: "calico/mtu-1500/1.json"}}
	if err := o.identify(files); err != nil {
		t.Fatal(err)
	}
	trial := Trial{Cell: "tcp", Levels: []factor.Level{{Factor: "qps", Value: "1"}}}
	if err := files[0].apply(&trial); err != nil || trial.Cell != "tcp.mtu=1500" || fmt.Sprint(trial.Levels) != "[qps=1 mtu=1500]" {
		t.Errorf("%+v, error %v", trial, err)
	}
	if err := files[0].apply(&trial); err == nil {
		t.Error("a factor that the file tells was overwritten")
	}
	if err := o.identify([]inputFile{{path: "calico/1500/1.json"}}); err == nil {
		t.Error("a path without the level was taken")
	}
}

func TestWorkloadOf(t *testing.T) {
	level := func(pairs ...string) (list []factor.Level) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, factor.Level{Factor: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	for _, c := range []struct {
		cell   string
		levels []factor.Level
		want   string
	}{
		{"tcp.qps=100.connections=4", level("qps", "100", "connections", "4"), "tcp"},
		{"udp.qps=100.connections=4", level("qps", "100", "connections", "4"), "udp"},
		{"pack.Zip/level=9-8", level("level", "9", "gomaxprocs", "8"), "pack.Zip-8"},
		{"pod2pod-tcp", level("path", "pod-to-pod"), "network"},
		{".qps=1", level("qps", "1"), "network"},
		{"x", nil, "network"},
	} {
		if got := workloadOf(&Trial{Cell: c.cell, Kind: "network", Levels: c.levels}); got != c.want {
			t.Errorf("%s: %s, want %s", c.cell, got, c.want)
		}
	}
}
