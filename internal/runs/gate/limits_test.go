package gate

import (
	"errors"
	"fmt"
	"testing"

	"tare/internal/experiment"
)

// TestPrecedence checks which of several limits applies.
func TestPrecedence(t *testing.T) {
	general := experiment.Budget{"latency": limit("10%")}
	own := experiment.Budget{"latency": limit("8%")}
	for _, c := range []struct {
		name          string
		general, own  experiment.Budget
		added         []string
		one, eight, m string // limits of seccomp[rules=1], seccomp[rules=8] and mtls
	}{
		{"none", nil, nil, nil, "", "", ""},
		{"general", general, nil, nil, "10%", "10%", "10%"},
		{"an arm's own", general, own, nil, "8%", "8%", "10%"},
		{"added for all", general, own, []string{"latency=3%"}, "3%", "3%", "3%"},
		{"added for an arm with levels", general, own, []string{"seccomp:latency=3%"}, "3%", "3%", "10%"},
		{"added for a level", general, own, []string{"seccomp[rules=8]:latency=3%", "seccomp:latency=4%", "latency=5%"}, "4%", "3%", "5%"},
		{"the later", nil, nil, []string{"latency=3%", "latency=4%"}, "4%", "4%", "4%"},
		{"an amount", nil, nil, []string{"mtls:latency=1.5ms"}, "", "", "1.5ms"},
	} {
		p := sweptPlan()
		p.Budget = c.general
		p.Arms[2].Budget, p.Arms[3].Budget = c.own, c.own
		l := LimitsOf(p)
		for _, text := range c.added {
			if err := l.Add(text); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{c.one, c.eight, c.m} {
			got, ok := l.of(p.Arms[2+i], "latency", "network")
			if ok != (want != "") || ok && got.String() != want {
				t.Errorf("%s: %s has %v, %v; want %q", c.name, p.Arms[2+i].Name, got, ok, want)
			}
		}
	}
}

func TestLimitErrors(t *testing.T) {
	for _, c := range []struct{ text, want, hint string }{
		{"latency", `"latency" is not of the form [ARM:]METRIC[@CELL]=LIMIT`, "such as tcp-bandwidth=10%, wireguard:tcp-rtt=50us, or tcp-rtt@network.tcp.*=1ms"},
		{"=5%", `"=5%" is not of the form [ARM:]METRIC[@CELL]=LIMIT`, "such as tcp-bandwidth=10%, wireguard:tcp-rtt=50us, or tcp-rtt@network.tcp.*=1ms"},
		{"latency=fast", `budget latency=fast: "fast" is not a share of the baseline such as 10%, or an amount such as 1ms, 5MiB or 0.5`, ""},
		{"latnecy=5%", `nothing here measures "latnecy"`, "did you mean latency? metrics here: latency"},
		{"mtl:latency=5%", `the run compares no arm "mtl" with the baseline`, "did you mean mtls? arms: mtls, seccomp, seccomp[rules=1], seccomp[rules=8]"},
		{"plain:latency=5%", `the run compares no arm "plain" with the baseline`, "arms: mtls, seccomp, seccomp[rules=1], seccomp[rules=8]"},
		{"network:latency=5%", `the run compares no arm "network" with the baseline`, "for the cell of this name: --budget latency@network=LIMIT"},
		{"latency@net=5%", `no cell "net" measures latency`, "did you mean network? cells: network"},
		{"mtls:latency@disk*=5%", `no cell "disk*" measures latency`, "cells: network"},
		{"latency@[=5%", `"[" is no pattern of cells`, "* stands for any characters, ? for one, [ab] for one of these"},
		{"mtls:lat=5%", `nothing here measures "lat"`, "did you mean latency? metrics here: latency"},
	} {
		err := LimitsOf(sweptPlan()).Add(c.text)
		var known *LimitError
		if !errors.As(err, &known) || known.Text != c.want || known.Hint != c.hint {
			t.Errorf("%s: %#v; want %q, %q", c.text, err, c.want, c.hint)
		}
	}
	p := sweptPlan()
	_, err := judged(p, trialsOf(p, 12, exactly(nil)), Options{}, "latency=1MiB")
	var known *LimitError
	if !errors.As(err, &known) || known.Text != "budget of seccomp[rules=1]: latency is in s; 1MiB is not" {
		t.Errorf("the error is %v", err)
	}
}

// TestCells checks that a limit may name cells, in the plan and on the command line.
func TestCells(t *testing.T) {
	many := func(keys ...string) experiment.Budget {
		b := experiment.Budget{}
		for i, k := range keys {
			b[k] = limit(fmt.Sprintf("%d%%", i+1))
		}
		return b
	}
	for _, c := range []struct {
		name         string
		general, own experiment.Budget
		added        []string
		tcp, udp     string // limits of mtls in net.tcp.mtu=1500 and net.udp
	}{
		{"one cell", many("latency@net.udp"), nil, nil, "", "1%"},
		{"the nearer", many("latency", "latency@net.*", "latency@net.udp"), nil, nil, "2%", "3%"},
		{"the longer pattern", many("latency@*", "latency@net.t*", "latency@ne*"), nil, nil, "2%", "3%"},
		{"equally long", many("latency@net*", "latency@n*t*"), nil, nil, "2%", "2%"},
		{"the arm before the cell", many("latency@net.udp"), many("latency@*", "latency"), nil, "1%", "1%"},
		{"added to one cell", many("latency", "latency@net.udp"), nil, []string{"latency@net.tcp.mtu=1500=9%"}, "9%", "2%"},
		{"added to an arm", nil, nil, []string{"mtls:latency=7%", "latency@net.udp=9%"}, "7%", "7%"},
		{"added to an arm in a cell", nil, nil, []string{"mtls:latency@*.udp=8%", "mtls:latency=7%"}, "7%", "8%"},
	} {
		p := sweptPlan()
		p.Cells = append(p.Cells, p.Cells[0])
		p.Cells[0].ID, p.Cells[1].ID = "net.tcp.mtu=1500", "net.udp"
		p.Budget, p.Arms[4].Budget = c.general, c.own
		l := LimitsOf(p)
		for _, text := range c.added {
			if err := l.Add(text); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{c.tcp, c.udp} {
			got, ok := l.of(p.Arms[4], "latency", p.Cells[i].ID)
			if ok != (want != "") || ok && got.String() != want {
				t.Errorf("%s: in %s %v, %v; want %q", c.name, p.Cells[i].ID, got, ok, want)
			}
		}
	}
}

// TestColonInMetric checks that an imported metric may contain a colon, which also ends the name of
// an arm.
func TestColonInMetric(t *testing.T) {
	p := sweptPlan()
	p.Cells[0].Metrics[0].Name = "read:p99=max"
	l := LimitsOf(p)
	for _, text := range []string{"read:p99=max=5%", "mtls:read:p99=max=6%"} {
		if err := l.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := l.of(p.Arms[2], "read:p99=max", "network")
	mtls, _ := l.of(p.Arms[4], "read:p99=max", "network")
	if one.String() != "5%" || mtls.String() != "6%" {
		t.Errorf("limits are %s and %s", one, mtls)
	}
}

// FuzzAdd checks that no text makes Add panic, and that an accepted limit applies to an arm and a
// metric of the plan.
func FuzzAdd(f *testing.F) {
	for _, text := range []string{"latency=5%", "mtls:latency=1.5ms", "seccomp[rules=8]:latency=0", "latency", "=", ":=5%", "a:b:c=1=2%", "latency=\xff", "mtls:latency@net*=1%", "latency@[=1%", "latency@=1%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := sweptPlan()
		l := LimitsOf(p)
		err := l.Add(text)
		var known *LimitError
		if err != nil && !errors.As(err, &known) {
			t.Fatalf("%q: %v", text, err)
		}
		held := 0
		for _, a := range p.Arms[2:] {
			if _, ok := l.of(a, "latency", "network"); ok {
				held++
			}
		}
		if (err == nil) != (held > 0) {
			t.Errorf("%q: %v, and %d arms have a limit", text, err, held)
		}
	})
}
