package experiment_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
)

// service is a workload whose service has members.
type service struct {
	Members factor.Levels[int] `yaml:"members" min:"1" doc:"members of the service"`
}

func (s *service) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: experiment.Needs{Network: true, Members: slices.Max(append(slices.Clip(s.Members), 1))}}
}

func (*service) Measures() experiment.Measures { return experiment.Measures{} }

// loadMembers loads an experiment with a testbed and workloads.
func loadMembers(testbed, workloads string) (*experiment.Experiment, error) {
	k := kinds()
	k.Workloads["service"] = func() experiment.WorkloadConfig { return &service{Members: factor.Of(3)} }
	return experiment.Load("test.yaml", fmt.Appendf(nil, head+"testbed: %s\narms: [name: plain, {name: on, layers: [wireguard]}]\nworkloads: [%s]\n", testbed, workloads), k)
}

// Each cell needs the members of its own workload, which may share nodes.
func TestMembers(t *testing.T) {
	for _, c := range []struct{ testbed, workloads, want string }{
		{"local", "service", "service 3 members"},
		{"local", "network, service: {members: [1, 5]}", "network 0 members, service.members=1 1 members, service.members=5 5 members"},
		{"{local: {nodes: 2}}", "service", "service 3 members on 2"},
		{"{kubernetes: {nodes: [1, 3]}}", "service", "service.nodes=1 3 members on 1, service.nodes=3 3 members on 3"},
	} {
		x, err := loadMembers(c.testbed, c.workloads)
		if err != nil {
			t.Errorf("%s, %s: %v", c.testbed, c.workloads, err)
			continue
		}
		e := expand(t, x)
		var got []string
		for i, cell := range e.Plan.Cells {
			one := fmt.Sprintf("%s %d members", cell.ID, e.Needs(i, 0).Members)
			bed := cell.Testbed.(map[string]any)
			if nodes, given := bed["nodes"]; given {
				one += fmt.Sprint(" on ", nodes)
			}
			got = append(got, one)
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.testbed, c.workloads, got, c.want)
		}
	}
}

func TestMembersProblems(t *testing.T) {
	for _, c := range []struct{ testbed, workloads, want string }{
		{"{local: {nodes: 2}}", "network", "no workload has a service of several members, so nodes changes nothing"},
		{"{kubernetes: {nodes: 2}}", "service: {members: 1}", "no workload has a service of several members, so nodes changes nothing"},
		{"{local: {nodes: 0}}", "service", "nodes is 0; it must be at least 1"},
		{"{local: {nodes: 65}}", "service", "nodes is 65; it must be at most 64"},
	} {
		if _, err := loadMembers(c.testbed, c.workloads); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %s", c.testbed, c.workloads, err, c.want)
		}
	}
}

// A server with two protocols appears to a mesh as TCP.
func TestNeedsAppProtocol(t *testing.T) {
	for _, c := range [][3]string{{"", "http", "http"}, {"http", "", "http"}, {"http", "http", "http"}, {"http", "tcp", "tcp"}, {"tcp", "grpc", "tcp"}, {"", "", ""}} {
		if got := (experiment.Needs{AppProtocol: c[0]}).And(experiment.Needs{AppProtocol: c[1]}).AppProtocol; got != c[2] {
			t.Errorf("%q and %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// Two combined needs have the larger number of members.
func TestNeedsMembers(t *testing.T) {
	few, many := experiment.Needs{Network: true, Members: 3}, experiment.Needs{Members: 5}
	for _, n := range []experiment.Needs{few.And(many), many.And(few)} {
		if n.Members != 5 || !n.Network {
			t.Errorf("%+v", n)
		}
	}
}
