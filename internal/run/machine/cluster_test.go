package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onCluster is a record with a cluster of two nodes, which the function change may alter.
func onCluster(change func(*Cluster)) *Environment {
	c := Cluster{Context: "prod", UID: "u1", Version: "v1.34.4", Platform: "linux/amd64",
		Nodes: []Node{
			{Name: "a", Kernel: "6.8.0", Runtime: "containerd://1.7.27", Zone: "z1", CPU: "EPYC 7763", Instance: "D4as_v5", Images: map[string]string{"tare": "sha256:1"}},
			{Name: "b", Kernel: "6.8.0", Runtime: "containerd://1.7.27", Zone: "z2", CPU: "EPYC 7763", Instance: "D4as_v5", Images: map[string]string{"tare": "sha256:1"}},
		},
		Components: map[string]string{"cilium": "cilium:1.17"},
		Notes:      []string{"a note on the cluster"},
	}
	if change != nil {
		change(&c)
	}
	return &Environment{Notes: []string{"a note"}, Clusters: []Cluster{c}}
}

func TestClusterDifferences(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Cluster)
		want   []string
	}{
		{"the same", nil, nil},
		{"other names of nodes", func(c *Cluster) { c.Nodes[0].Name, c.Nodes[1].Name = "x", "y" }, nil},
		{"nodes the other way round", func(c *Cluster) { c.Nodes[0], c.Nodes[1] = c.Nodes[1], c.Nodes[0] }, nil},
		{"another context for the same cluster", func(c *Cluster) { c.Context = "admin@prod" }, nil},
		{"another cluster", func(c *Cluster) { c.UID, c.Version = "u2", "v1.35.0" },
			[]string{"cluster is u2, was u1", "cluster version is v1.35.0, was v1.34.4"}},
		{"one node renewed", func(c *Cluster) { c.Nodes[1].Kernel, c.Nodes[1].Runtime = "6.11.0", "containerd://2.0.1" },
			[]string{"kernel of the nodes is 6.11.0, 6.8.0, was 6.8.0", "container runtime of the nodes is containerd://1.7.27, containerd://2.0.1, was containerd://1.7.27"}},
		{"same zone and other machines", func(c *Cluster) {
			for i := range c.Nodes {
				c.Nodes[i].Zone, c.Nodes[i].CPU, c.Nodes[i].Instance = "z1", "EPYC 9V74", "DC4as_v5"
			}
		}, []string{"zone of the nodes is z1, was z1, z2", "instance type of the nodes is DC4as_v5, was D4as_v5", "processor of the nodes is EPYC 9V74, was EPYC 7763"}},
		{"one node only", func(c *Cluster) { c.Nodes = c.Nodes[:1] },
			[]string{"number of nodes used is 1, was 2", "zone of the nodes is z1, was z1, z2"}},
		{"another image and component", func(c *Cluster) {
			c.Nodes[0].Images, c.Nodes[1].Images = map[string]string{"tare": "sha256:2"}, nil
			c.Components = map[string]string{"istiod": "pilot:1.25"}
		}, []string{"image of container tare is sha256:2, was sha256:1", "component cilium is unknown, was cilium:1.17", "component istiod is pilot:1.25, was unknown"}},
	} {
		if d := cmp.Diff(c.want, onCluster(nil).Differences(onCluster(c.change))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	if d := cmp.Diff([]string{"a note", "a note on the cluster"}, onCluster(nil).Remarks()); d != "" {
		t.Errorf("remarks (-want +got):\n%s", d)
	}
	for _, p := range Properties(&Environment{}, nil) {
		if p.Cluster {
			t.Errorf("%q is a property of a cluster where there is none", p.Name)
		}
	}
}
