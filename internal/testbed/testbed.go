// Package testbed defines the interfaces of testbeds and of their sites.
//
// A Site surrounds the commands of one arm, at one level of the testbed's factors. Open prepares the site, the arm's
// layers are put up, and the site is made ready. It stays until all arms are set up anew, or until the run ends. If arms
// are up in turn, it stays for one trial.
//
// Features that only some testbeds have are small optional interfaces of the site. The function As finds them, even in
// wrappers, as errors.As does for errors:
//
//	Staged   the site is made only after layers have requested its parts (Ready)
//	Mender   the site may break, and is repaired before a trial
//	Closer   the site can be taken down alone, and opened anew
//	Remote   some places of the site are not on this machine
//	Network  two nodes, a pod on each, and a service; Datagrams, Wire, Shaper and Nodes
//	         use or change the network between them
//	Members  the server pods of a service, called members; MemberVolumes are their volumes
//	Clients  the client pods of a load that comes from several pods
//	Volume   a volume in the client's pod; VolumeStack if layers add parts to it
//	Holding  values that layers and workloads share (Held)
//	Sidecars pods that can have a container for a layer's own processes
//	Scratch  a directory for files that programs under test need
//	Cgrouped a cgroup for programs under test
//	Wrapper  commands with the wrappers of layers, without starting them
package testbed

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"tare/internal/experiment"
)

// Site is where the commands of one arm run. Each level of the testbed's factors has a site of its own.
type Site interface {
	// Start starts a command at a place. The command is killed when the context is done.
	Start(ctx context.Context, where Place, cmd Command) (Process, error)
}

// Run starts a command at a place of a site and waits until it has ended.
func Run(ctx context.Context, site Site, where Place, cmd Command) (Usage, error) {
	process, err := site.Start(ctx, where, cmd)
	if err != nil {
		return Usage{}, err
	}
	return process.Wait()
}

// Output runs a program at a place of a site and returns its output. An error contains the end of its standard error.
func Output(ctx context.Context, site Site, where Place, args ...string) ([]byte, error) {
	var out bytes.Buffer
	_, err := Run(ctx, site, where, Command{Args: args, Stdout: &out})
	return out.Bytes(), err
}

// FirstPort and LastPort are the first and the last of the ports that the service of a Network forwards.
const (
	FirstPort = 5201
	LastPort  = 5210
)

// ServicePorts lists the ports that the service of a Network forwards, for TCP and UDP.
func ServicePorts() (ports []uint16) {
	for p := uint16(FirstPort); p <= LastPort; p++ {
		ports = append(ports, p)
	}
	return ports
}

// Testbed makes sites.
type Testbed interface {
	Open(ctx context.Context, want Request) (Site, error)
	// Close takes down all sites and all other things that the testbed has made.
	Close() error
}

// Request describes the site that the caller needs.
type Request struct {
	Name  string           // name of the arm
	Needs experiment.Needs // needs of all workloads and layers at the site
	Level any              // the testbed's parameters, with one level of each factor: *experiment.Local or *experiment.Kubernetes
}

// As returns the optional interface T of a site, or of a site that this site wraps.
func As[T any](s Site) (T, bool) { return find[T](s) }

// Need returns the optional interface T of a site, like As. If the site lacks T, the error has the text lack.
func Need[T any](s Site, lack string) (T, error) {
	t, ok := As[T](s)
	if !ok {
		return t, errors.New(lack)
	}
	return t, nil
}

func find[T, Wrapping any](w Wrapping) (T, bool) {
	for {
		if t, ok := any(w).(T); ok {
			return t, true
		}
		u, ok := any(w).(interface{ Unwrap() Wrapping })
		if !ok {
			var zero T
			return zero, false
		}
		w = u.Unwrap()
	}
}

// Held lists the values of type T that Holding has added to a site, or to the sites that it wraps.
func Held[T any](s Site) (list []T) {
	for h, ok := As[holding](s); ok; h, ok = As[holding](h.Site) {
		for _, one := range h.held {
			if t, ok := one.(T); ok {
				list = append(list, t)
			}
		}
	}
	return list
}

// Holding wraps a site and adds values that layers and workloads share, such as settings and running servers.
func Holding(s Site, held ...any) Site { return holding{s, held} }

type holding struct {
	Site
	held []any
}

func (h holding) Unwrap() Site { return h.Site }

// Disturbance is an error that spoils a trial but does not depend on the measured system, such as an evicted pod. The
// run goes on after a repair.
type Disturbance struct {
	What string // "pod tare-1/client on node-2 cannot be reached"
	Err  error
}

func (e *Disturbance) Error() string { return e.What + ": " + e.Err.Error() }

func (e *Disturbance) Unwrap() error { return e.Err }

// Broken is the error of a damaged site that can only be repaired by opening it anew. The text What describes the
// damage.
type Broken struct{ What string }

func (e *Broken) Error() string { return e.What }

// Status is the result of a probe.
type Status string

// These are the possible results of a probe.
const (
	Works   Status = "works"
	Refused Status = "refused" // this system forbids the feature
	Missing Status = "missing" // a program is missing, and can be installed
)

// Finding is one result of a probe.
type Finding struct {
	Name   string `json:"name"` // what was probed, such as "kernel" or "userspace"
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"` // reason of the status
	Hint   string `json:"hint,omitempty"`   // command that installs a missing program or permits the feature
}

// Tried returns the finding after a try of the feature. err is the error of the try. If err is not nil, the finding
// gets the status Refused.
func (f Finding) Tried(err error) Finding {
	if err != nil {
		f.Status, f.Detail = Refused, err.Error()
	}
	return f
}

// AlwaysWorks returns the probe of a feature that works on every machine. detail names the uses of the feature.
func AlwaysWorks(name, detail string) func(context.Context) []Finding {
	return func(context.Context) []Finding { return []Finding{{Name: name, Status: Works, Detail: detail}} }
}

// Place names the part of a site where a command runs.
type Place string

// These are the places of a site. Host is outside of any node. The other places need a network.
const (
	Host       Place = "host"
	ClientNode Place = "client-node"
	ServerNode Place = "server-node"
	ClientPod  Place = "client-pod"
	ServerPod  Place = "server-pod"
)

// Values lists the places that an experiment file can name. The places of further members are only for programs of
// Tare.
func (Place) Values() []string {
	return []string{string(Host), string(ClientPod), string(ServerPod), string(ClientNode), string(ServerNode)}
}

// Member returns the pod of member i of a service: ServerPod, server-pod-2 and so on. Members are counted from 1.
func Member(i int) Place { return numbered(ServerPod, i) }

// MemberNode returns node i of the members: ServerNode, server-node-2 and so on. Nodes are counted from 1 (Spread).
func MemberNode(i int) Place { return numbered(ServerNode, i) }

// Client returns the pod of client i: ClientPod, client-pod-2 and so on. Clients are counted from 1.
func Client(i int) Place { return numbered(ClientPod, i) }

func numbered(first Place, i int) Place {
	if i <= 1 {
		return first
	}
	return first + "-" + Place(strconv.Itoa(i))
}

// Server reports whether a place is on the server's side: a member's pod or node.
func (p Place) Server() bool {
	return strings.HasPrefix(string(p), string(ServerPod)) || strings.HasPrefix(string(p), string(ServerNode))
}

// Spread assigns members to nodes in turn, and returns the number of each member's node, from 1. If nodes is 0, each
// member has its own node.
func Spread(members, nodes int) []int {
	if nodes <= 0 {
		nodes = members
	}
	on := make([]int, members)
	for i := range on {
		on[i] = i%nodes + 1
	}
	return on
}

// Places lists the places where a workload with these needs starts its programs.
func Places(needs experiment.Needs) []Place {
	if !needs.PodsOnClusters() {
		return []Place{Host}
	}
	places := []Place{ClientPod}
	if needs.Network {
		for i := 2; i <= needs.Clients; i++ {
			places = append(places, Client(i))
		}
		for i := range max(needs.Members, 1) {
			places = append(places, Member(i+1))
		}
	}
	if needs.HostNetwork {
		places = append(places, ClientNode, ServerNode)
	}
	return places
}
