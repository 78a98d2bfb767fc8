// Package testbed says what a trial needs from its surroundings, as interfaces.
//
// A Site is the surroundings of one arm at one level of the testbed's factors. Open
// asks for it, the arm's layers are put up around it, then it is made ready. It stays set up
// until all arms are set up anew, or to the end of the run.
//
// What only some testbeds can do is a small optional interface of the site. As finds it,
// through any wrappers, in the way of errors.As:
//
//	Staged   the site is made only after layers have said how (Ready)
//	Mender   it may break, and is made whole again before a trial
//	Closer   it can be taken down alone, to be opened anew
//	Remote   some of its places are not on this machine
//	Network  two nodes, a pod on each, and a service; Courier, Wire, Shaper and Nodes
//	         are what can be done with the network between them
//	Members  the server pods of a service that has several, and MemberVolumes theirs
//	Clients  the client pods of a load that comes from several
//	Volume   a volume in the client's pod; VolumeStack where layers put something below it
//	Holder   what layers and workloads show each other there (Held)
//	Sidecars pods that can have a container for a layer's own processes
//	Scratch  a directory for files that programs under test need
//	Cgrouped a cgroup that programs under test are in
//	Wrapper  what layers put in front of commands, without starting them
package testbed

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"tare/experiment"
)

// Place names where in a site a command runs.
type Place string

// The places of a site. Host is outside any node and always there; the others
// need a network.
const (
	Host       Place = "host"
	ClientNode Place = "client-node"
	ServerNode Place = "server-node"
	ClientPod  Place = "client-pod"
	ServerPod  Place = "server-pod"
)

// Values lists the places that a file can name. Further members of a service and their
// nodes are not among them: Tare starts programs there, and no command does.
func (Place) Values() []string {
	return []string{string(Host), string(ClientPod), string(ServerPod), string(ClientNode), string(ServerNode)}
}

// Member is the pod of a member of a service, from 1: ServerPod, then server-pod-2 and so on.
func Member(i int) Place { return numbered(ServerPod, i) }

// MemberNode is one of the nodes that members are spread over, from 1: ServerNode, then
// server-node-2 and so on. Where there are fewer nodes than members, member 2 may be
// on any of them: see Spread.
func MemberNode(i int) Place { return numbered(ServerNode, i) }

// Client is the pod of one of several clients, from 1: ClientPod, then client-pod-2 and so on.
func Client(i int) Place { return numbered(ClientPod, i) }

func numbered(first Place, i int) Place {
	if i <= 1 {
		return first
	}
	return first + "-" + Place(strconv.Itoa(i))
}

// Server says whether a place is a member's pod, or a node of members.
func (p Place) Server() bool {
	return strings.HasPrefix(string(p), string(ServerPod)) || strings.HasPrefix(string(p), string(ServerNode))
}

// Spread gives the node of each member, both counted from 1, where members go round so many
// nodes; 0: each has a node of its own.
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

// Places lists where a workload with these needs starts its programs.
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

// Command is a program to run.
type Command struct {
	Args   []string // program and arguments; the program is looked up in PATH
	Env    []string // "NAME=value", added to the testbed's own environment
	Dir    string   // working directory; "" for the testbed's own
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Subject marks the programs that the experiment is about: layers that put
	// something around a command do so for these only, not for Tare's own probes.
	Subject bool
	// Files are open in the program as descriptors 3 and on. Only programs on this machine can
	// have some.
	Files []*os.File
}

// Process is a started command. It and all its descendants are gone after Wait
// or Kill, or with the process that started it.
type Process interface {
	// Wait waits for the end and gives what was used, also when the command
	// failed. A non-zero exit is an *ExitError.
	Wait() (Usage, error)
	// Kill ends the process and its descendants; Wait then returns.
	Kill() error
	// CPU is the CPU time used so far by the process and all its descendants; ErrUncounted
	// where nobody knows, and so is Memory.
	CPU() (time.Duration, error)
	// Memory is what is resident of them now, in bytes, pages that several share counted for
	// each; 0 after their end.
	Memory() (int64, error)
}

// ErrUncounted is what a Process answers whose use of CPU time and memory is not known, since
// what it stands for runs elsewhere. Its Usage is Unavailable.
var ErrUncounted = errors.New("what the program uses is not known")

// Printer is a Process whose outputs are written whole when it has ended, and can be read
// before. Other processes write them as they come.
type Printer interface {
	// Printed reads what was written so far to "stdout" or "stderr", if that is kept, from an
	// offset on: a piece, which is empty where there is no more yet, or the process has ended.
	Printed(stream string, from int64) ([]byte, error)
}

// Timed is a Process on this machine of which the moment is known at which it was forked.
type Timed interface {
	Begun() time.Time
}

// Proportional is a Process of which the memory is known in a way that adds up over processes.
type Proportional interface {
	// Proportional is what is resident of it and all its descendants, in bytes, a page that
	// several processes share counted for each of them in equal parts (PSS).
	Proportional() (int64, error)
}

// ProcessAs finds the optional interface T of a process, or of what it wraps, as As does of a site.
func ProcessAs[T any](p Process) (T, bool) {
	for {
		if t, ok := p.(T); ok {
			return t, true
		}
		u, ok := p.(interface{ Unwrap() Process })
		if !ok {
			var zero T
			return zero, false
		}
		p = u.Unwrap()
	}
}

// Usage is what a process consumed over its life, waited-for children included.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Wall   time.Duration `json:"wall"`
	// MaxRSS is the peak of resident memory in bytes; 0 where it is not known, as of a
	// small program that ended before anybody could look.
	MaxRSS int64 `json:"maxRSS"`
	// Left are the command lines of what the command had started and what ran on for more
	// than a moment after it (process.LeftGrace), until it was killed.
	Left []string `json:"left,omitempty"`
	// Unavailable says that CPU time and memory are not known, and zero here: a sandbox counts
	// by a clock of its own. Its name in stored runs is an older one.
	Unavailable bool `json:"untold,omitempty"`
}

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Site is the surroundings of one arm at one level of the testbed.
type Site interface {
	// Start starts a command. The context kills it when done.
	Start(ctx context.Context, where Place, cmd Command) (Process, error)
}

// Testbed makes sites.
type Testbed interface {
	Open(ctx context.Context, want Request) (Site, error)
	// Close takes down all sites and everything else that was made.
	Close() error
}

// Request says what a site is for.
type Request struct {
	Name  string           // of the arm
	Needs experiment.Needs // of all that is to run at the site
	// Level is the testbed's parameters at one level, of the type that belongs to
	// the testbed: *experiment.Local or *experiment.Kubernetes.
	Level any
}

// Staged is a site that is only asked for by Open, because layers shape it.
type Staged interface {
	// Ready makes the site, with what layers have asked for, and waits until it
	// can be used. Several sites of a testbed may be made ready at the same time.
	Ready(ctx context.Context) error
}

// Remote is a site some of whose places are not on this machine: programs are looked
// up in another file system there, that of a pod.
type Remote interface {
	// Self is the path of the program there that runs the helpers of layers; "" where
	// the place is this machine.
	Self(where Place) string
}

// Path is a way from the client pod to the server pod.
type Path string

// The paths of the published studies.
const (
	PodToPod     Path = "pod-to-pod"     // to the pod's own address
	PodToService Path = "pod-to-service" // to a ClusterIP, translated on the client's node
	NodeToNode   Path = "node-to-node"   // between the nodes themselves, outside of any pod
)

// Values lists the paths.
func (Path) Values() []string {
	return []string{string(PodToPod), string(PodToService), string(NodeToNode)}
}

// Ends gives the places of the client and the server of a path.
func (p Path) Ends() (client, server Place) {
	if p == NodeToNode {
		return ClientNode, ServerNode
	}
	return ClientPod, ServerPod
}

// Network is a site with two nodes, a pod on each, and a service. Where the service has
// several members, the server is the first of them.
type Network interface {
	// Address is where the client reaches the server on that path.
	Address(Path) netip.Addr
	// Ports lists the server's ports that the service forwards, TCP and UDP.
	Ports() []uint16
	// LinkRate is the rate that the wire is shaped to, in bit/s; 0: unlimited.
	LinkRate() float64
}

// Members is a network whose service has members: server pods that also reach each other.
type Members interface {
	// Members are the addresses of the members' pods, one at least; the first is the
	// address of the server on the path pod-to-pod. On a cluster there are none before the
	// site is ready.
	Members() []netip.Addr
}

// Clients is a network on which the load can come from several pods, where one asks for them
// (experiment.Needs.Clients). Elsewhere all clients are in the one client's pod.
type Clients interface {
	// Clients are the places of the clients' pods, ClientPod first.
	Clients() []Place
}

// MemberVolumes is a network whose members have volumes of their own, where one asks for
// them (experiment.Needs.MemberVolume). They are empty when the site is opened, and gone when it is closed.
type MemberVolumes interface {
	// MemberVolume is the directory of a member's volume, from 1, as programs in its pod
	// see it; "" where none was asked for.
	MemberVolume(i int) string
}

// Courier is a network on which single datagrams can be sent.
type Courier interface {
	// Deliver sends one UDP datagram from the client pod to the server pod's
	// own address and says whether it arrived within the limit.
	Deliver(ctx context.Context, payload []byte, limit time.Duration) (bool, error)
	// DeliverBetween does the same from one pod to another.
	DeliverBetween(ctx context.Context, from, to Place, payload []byte, limit time.Duration) (bool, error)
}

// Volume is a site with a volume in the client's pod.
type Volume interface {
	// Volume is the directory where the file system is mounted, or the path of
	// the block device, as seen by programs in the client's pod.
	Volume() string
}

// Wire is a site on which the frames between the nodes can be seen.
type Wire interface {
	// Watch starts counting frames on the wire that contain pattern; stop ends
	// it and gives the count.
	Watch(ctx context.Context, pattern []byte) (stop func() (frames int, err error), err error)
}

// Shaper is a site whose wire can be made another than its testbed's.
type Shaper interface {
	// Shape makes both directions of the wire, and all that leads to it, so.
	Shape(Shape) error
	// Shaped reads back from the kernel how the wire is.
	Shaped() (Shape, error)
	// Unshaped is how the testbed has it.
	Unshaped() Shape
}

// Shape is what a wire does to the packets of each direction.
type Shape struct {
	Rate  float64       // bit/s; 0: no cap
	MTU   int           // largest IP packet, in bytes
	Delay time.Duration // of each, beside what the rate makes it wait
	Loss  float64       // share of them that is lost, at random: 0 to 1
}

// Nodes is a site whose nodes' network can be changed by a layer.
type Nodes interface {
	// Nodes gives the client's node, the server's node, and the other nodes of members.
	Nodes() []Node
}

// Node is one node's network.
type Node interface {
	// Place is where commands on this node run.
	Place() Place
	// Address is the node's address on the wire.
	Address() netip.Addr
	// PodNetwork is the network of the pods on this node.
	PodNetwork() netip.Prefix
	// Pods are the places of the pods on this node, one at least.
	Pods() []Place
	// MTU is the largest IP packet that the wire takes, in bytes.
	MTU() int
	// Do runs f on an OS thread inside the node's network namespace. f must not
	// start goroutines that rely on the namespace.
	Do(f func() error) error
	// RouteVia sends what the node forwards to prefix, the pod network of another node,
	// over the named interface of the node, with its pods' route to prefix limited to
	// that MTU; with dev "" the node's own route over the wire is restored.
	RouteVia(prefix netip.Prefix, dev string, mtu int) error
}

// Sidecars is a site whose pods can have a container more, for a layer's own processes: they see
// the pod's network, and have rights that the programs under test have not.
type Sidecars interface {
	// AddSidecar asks for one in the pod at a place, before the site is made ready, and gives
	// the place that it is.
	AddSidecar(pod Place, want Sidecar) (Place, error)
	// SidecarPods are the pods that can have one: those of clients, then those of the service.
	SidecarPods() []Place
	// PodAddresses are the pod's own, once the site is ready: one of each family that it has.
	PodAddresses(pod Place) []netip.Addr
}

// Sidecar is a container for a layer's own processes, which are root's there. What they use is
// the layer's to tell (layer.Active.Costs).
type Sidecar struct {
	Name         string   // unique in the pod: "mtls"
	Image        string   // in which its programs are; "": Tare's own
	Capabilities []string // that its processes have, without CAP_: "NET_ADMIN"
}

// Scratch is a site on this machine with a directory for files that programs under test need.
type Scratch interface {
	// Scratch gives the directory, which everybody may read. It is made when first asked for,
	// and goes with the site.
	Scratch() (string, error)
}

// Cgrouped is a site on this machine whose programs under test can be in a cgroup of the site.
type Cgrouped interface {
	// Cgroup is the directory of a cgroup of version 2. Programs under test that are started from now
	// on are in it, in cgroups of their own: those in the pods of members for ServerPod, all others
	// for ClientPod, both for Host. It goes with the site, or with tare clean.
	Cgroup(where Place) (*os.File, error)
}

// Wrapper is a site whose commands under test go through the wrappers of layers.
type Wrapper interface {
	// Wrapped is the command that Start starts at that place in place of one under test, for
	// who starts it in another way.
	Wrapped(where Place, cmd Command) (Command, error)
}

// Unwrapper is a Site around another.
type Unwrapper interface {
	Unwrap() Site
}

// As finds the optional interface T in a site or in what it wraps.
func As[T any](s Site) (T, bool) {
	for {
		if t, ok := s.(T); ok {
			return t, true
		}
		u, ok := s.(Unwrapper)
		if !ok {
			var zero T
			return zero, false
		}
		s = u.Unwrap()
	}
}

// Holder is a site at which layers and workloads show each other what they have there, such as
// settings and the servers that have them.
type Holder interface {
	// Holds lists what is there beside what the wrapped site holds.
	Holds() []any
}

// Held lists what is held of a type at a site, or at what it wraps.
func Held[T any](s Site) []T {
	var list []T
	for s != nil {
		if h, ok := s.(Holder); ok {
			for _, one := range h.Holds() {
				if t, ok := one.(T); ok {
					list = append(list, t)
				}
			}
		}
		u, ok := s.(Unwrapper)
		if !ok {
			break
		}
		s = u.Unwrap()
	}
	return list
}

// Holding is the site with more that it holds.
func Holding(s Site, held ...any) Site { return holding{s, held} }

type holding struct {
	Site
	held []any
}

// Unwrap gives the site without it.
func (h holding) Unwrap() Site { return h.Site }

// Holds lists it.
func (h holding) Holds() []any { return h.held }

// Disturbance is an error that spoils the trial under way and says nothing about
// what is measured: the surroundings were lost (a pod was evicted, its node went
// away, the connection to it broke). The run goes on once the site is mended.
type Disturbance struct {
	What string // "pod tare-1/client on node-2 cannot be reached"
	Err  error
}

// Error says what was lost, and why.
func (e *Disturbance) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *Disturbance) Unwrap() error { return e.Err }

// Mender is a site that may break while it is up, and can be made whole again.
type Mender interface {
	// Mend looks, before a trial, whether the site is whole, and makes again what
	// is lost. It costs next to nothing while all is well. A *Disturbance says
	// that it is not whole yet, so that the trial cannot be valid; a *Broken, that it
	// must be closed and opened anew; any other error, that it will never be whole.
	Mend(ctx context.Context) error
}

// Broken says what of a site is damaged in a way that only opening it anew repairs.
type Broken struct{ What string }

// Error says what is damaged.
func (e *Broken) Error() string { return e.What }

// Closer is a site that can be taken down before its testbed is, to be opened anew.
type Closer interface {
	// Close takes the site down. To do so again does nothing. Several sites of a testbed may
	// be closed at the same time.
	Close() error
}
