// Package cluster brings up a real Kubernetes with a control plane and two
// nodes on one Linux machine, and takes it down without a trace.
//
// Every component is the upstream one: etcd, the API server, the controllers and
// the scheduler on one machine made of namespaces (package machine); a kubelet,
// kube-proxy, containerd and runc on each of two more; the standard bridge CNI
// plugin between them (package network). See docs/test-cluster.md for what that
// makes real and what not.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"tare/hack/cluster/machine"
	"tare/hack/cluster/network"
)

// DefaultBase is where clusters keep their files, each in a directory of its
// own name. It has to be a real file system: containers' overlays stand on it.
const DefaultBase = "/var/lib/tare-cluster"

// Nodes is how many nodes a cluster has.
const Nodes = 2

const (
	controlPlane = "control-plane"
	recordFile   = "cluster.json"
)

// Cluster is a test cluster, up or not.
type Cluster struct {
	Name string
	Base string
	Log  io.Writer // progress
}

// record is what has to be known of a cluster beside what can be seen of it.
type record struct {
	Slot  int      `json:"slot"`
	Bin   string   `json:"bin"`             // directory of the compiled programs
	Ready bool     `json:"ready"`           // Up has come to its end
	Hosts []string `json:"hosts,omitempty"` // what it has that others have not, once it is ready
}

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$`)

// New is the cluster of that name below base, which may not exist yet.
func New(name, base string, log io.Writer) (*Cluster, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("cluster name %q: use up to 20 lower-case letters, digits and hyphens", name)
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return nil, err
	}
	return &Cluster{Name: name, Base: base, Log: log}, nil
}

// Dir holds all the files of the cluster.
func (c *Cluster) Dir() string { return filepath.Join(c.Base, c.Name) }

// Kubeconfig is the file with which the host administers the cluster.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir(), "kubeconfig") }

// Machine is one of the cluster's machines by its name: control-plane, node1, node2.
func (c *Cluster) Machine(name string) (machine.Machine, error) {
	for _, m := range c.machines() {
		if m.Hostname == name {
			return m, nil
		}
	}
	return machine.Machine{}, fmt.Errorf("no machine %q: there are control-plane, node1 and node2", name)
}

// machines are the control plane's and then the nodes'.
func (c *Cluster) machines() []machine.Machine {
	names := []string{controlPlane}
	for n := 1; n <= Nodes; n++ {
		names = append(names, nodeName(n))
	}
	var all []machine.Machine
	for _, name := range names {
		all = append(all, machine.Machine{Hostname: name, Dir: filepath.Join(c.Dir(), name)})
	}
	return all
}

func nodeName(n int) string { return fmt.Sprintf("node%d", n) }

// cgroupName is the group that a node's pods are in.
func (c *Cluster) cgroupName(node string) string { return "tare-cluster-" + c.Name + "-" + node }

// read returns what was recorded of the cluster; fs.ErrNotExist if nothing was.
func (c *Cluster) read() (record, error) {
	var r record
	content, err := os.ReadFile(filepath.Join(c.Dir(), recordFile))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Join(c.Dir(), recordFile), err)
	}
	return r, nil
}

func (c *Cluster) write(r record) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file := filepath.Join(c.Dir(), recordFile)
	if err := os.WriteFile(file+".partial", content, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".partial", file)
}

// claim makes the cluster's directory and takes the first slot that no other
// cluster has and that the host has no address in. Claims are made one by one.
func (c *Cluster) claim(bin string) (record, error) {
	if err := os.MkdirAll(c.Base, 0o755); err != nil {
		return record{}, err
	}
	unlock, err := lockDir(c.Base)
	if err != nil {
		return record{}, err
	}
	defer unlock()
	taken := map[int]bool{}
	others, err := os.ReadDir(c.Base)
	if err != nil {
		return record{}, err
	}
	for _, other := range others {
		if !other.IsDir() {
			continue // a lock
		}
		r, err := (&Cluster{Name: other.Name(), Base: c.Base}).read()
		if err == nil {
			taken[r.Slot] = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			return record{}, err
		}
	}
	if err := os.Mkdir(c.Dir(), 0o755); err != nil {
		return record{}, err
	}
	for slot := range network.Slots {
		used, err := network.Used(slot)
		if err != nil {
			return record{}, err
		}
		if !taken[slot] && !used {
			r := record{Slot: slot, Bin: bin}
			return r, c.write(r)
		}
	}
	return record{}, fmt.Errorf("no free addresses: %d clusters exist below %s", len(taken), c.Base)
}

// lock lets one command at a time change the cluster. The lock is on a file
// beside the cluster's directory, which comes and goes.
func (c *Cluster) lock() (unlock func(), err error) {
	if err := os.MkdirAll(c.Base, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(c.Base, "."+c.Name+".lock")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && !sameFile(f, file) {
		err = errors.New("that command has just ended: try again")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cluster %s is being changed by another command (which holds %s): %w", c.Name, file, err)
	}
	return func() {
		os.Remove(file)
		f.Close()
		os.Remove(c.Base) // if it is empty
	}, nil
}

// sameFile reports whether path still names f, and not a newer file or none.
func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { f.Close() }, nil
}
