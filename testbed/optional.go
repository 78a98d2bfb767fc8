package testbed

import (
	"context"
	"net/netip"
	"os"
	"time"
)

// What only some sites can do, in the order of the package comment. As finds it.

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

// Mender is a site that may break while it is up, and can be made whole again.
type Mender interface {
	// Mend looks, before a trial, whether the site is whole, and makes again what
	// is lost. It costs next to nothing while all is well. A *Disturbance says
	// that it is not whole yet, so that the trial cannot be valid; a *Broken, that it
	// must be closed and opened anew; any other error, that it will never be whole.
	Mend(ctx context.Context) error
}

// Closer is a site that can be taken down before its testbed is, to be opened anew.
type Closer interface {
	// Close takes the site down. To do so again does nothing. Several sites of a testbed may
	// be closed at the same time.
	Close() error
}
