package command

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/workload/workloadtest"
)

// peers is a site with addresses, on this machine.
type peers map[testbed.Path]netip.Addr

func (p peers) Address(path testbed.Path) netip.Addr { return p[path] }
func (peers) Ports() []uint16                        { return nil }
func (peers) LinkRate() float64                      { return 0 }

func (peers) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	cmd.Env = append(cmd.Env, "WHERE="+string(where))
	return local.Here.Start(ctx, testbed.Host, cmd)
}

func TestPeers(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::2")
	tests := []struct {
		name string
		in   testbed.Place
		site peers
		want string
	}{
		{"both", testbed.ClientPod, peers{testbed.PodToPod: one, testbed.PodToService: two}, "client-pod 10.0.0.1 fd00::2\n"},
		{"no service", testbed.ServerPod, peers{testbed.PodToPod: one}, "server-pod 10.0.0.1 none\n"},
		{"outside", testbed.Host, peers{testbed.PodToPod: one}, "host none none\n"},
	}
	for _, test := range tests {
		c := config(`echo $WHERE ${TARE_PEER-none} ${TARE_SERVICE-none}`)
		c.In = test.in
		kept := new(workloadtest.Raw)
		if _, err := run(t.Context(), c, test.site, kept); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := kept.Texts()["stdout.txt"]; got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestImage(t *testing.T) {
	c := config("true")
	c.Image, c.Command = "registry.example/bench:1@sha256:0123", []string{"/opt/bench"}
	c.In = testbed.ClientPod
	want := experiment.Needs{Network: true, Image: c.Image, Only: "kubernetes"}
	if diff := cmp.Diff(want, c.needs()); diff != "" {
		t.Error(diff)
	}
	if programs := c.programs(); programs != nil {
		t.Errorf("%v are looked for on this machine", programs)
	}
	c.Shell, c.In = "", testbed.Host
	refused := []experiment.FieldError{{Field: "image", Message: "the program runs on the machine that Tare runs on: write in: client-pod, or leave the image out"}}
	if diff := cmp.Diff(refused, c.validate()); diff != "" {
		t.Error(diff)
	}
}

// TestProgramOfLevels lists the programs of a factor in the program's name.
func TestProgramOfLevels(t *testing.T) {
	c := config("true")
	c.Command = []string{"./$(class)/$(kernel)", "$(size)"}
	c.Factors = factor.Named{"kernel": factor.Of[factor.Word]("ep", "cg"), "size": factor.Of[factor.Word]("1", "2"), "class": factor.Of[factor.Word]("A")}
	var got []string
	for _, p := range c.programs() {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"./A/cg", "./A/ep"}, got); diff != "" {
		t.Error(diff)
	}
}
