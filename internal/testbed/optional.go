package testbed

import (
	"context"
	"net/netip"
	"os"
	"time"
)

// These are the optional interfaces of a Site, in the order of the package comment. As finds them.

// Staged is a site that Open only prepares. Layers can therefore shape it before it is made.
type Staged interface {
	// Ready makes the site with the layers' requests and waits for it. Several sites may be made at once.
	Ready(ctx context.Context) error
}

// Remote is a site with places in other file systems, in which their programs are looked up.
type Remote interface {
	// Self returns the path that this program has at a place, for helpers; "" on this machine.
	Self(where Place) string
}

// Path is a route from the client pod to the server pod.
type Path string

// These are the paths that published studies measure.
const (
	PodToPod     Path = "pod-to-pod"     // to the pod's own address
	PodToService Path = "pod-to-service" // to a ClusterIP, translated on the client's node
	NodeToNode   Path = "node-to-node"   // between the nodes themselves, outside of any pod
)

// Values lists the paths.
func (Path) Values() []string {
	return []string{string(PodToPod), string(PodToService), string(NodeToNode)}
}

// Ends returns the places of the client and the server on a path.
func (p Path) Ends() (client, server Place) {
	if p == NodeToNode {
		return ClientNode, ServerNode
	}
	return ClientPod, ServerPod
}

// Network is a site with two nodes, a pod on each, and a service. Of several members, the first is the server.
type Network interface {
	// Address returns the address by which the client reaches the server on a path.
	Address(Path) netip.Addr
	// Ports lists the server's ports that the service forwards, for TCP and UDP.
	Ports() []uint16
	// LinkRate returns the maximum rate of the wire, in bit/s; 0: unlimited.
	LinkRate() float64
}

// Members is a network whose service has members: server pods that can also reach each other.
type Members interface {
	// Members returns the addresses of the members' pods, on a cluster when the site is ready. The first is the
	// server's address on the path pod-to-pod.
	Members() []netip.Addr
}

// Clients is a network with several client pods (experiment.Needs.Clients). Other networks have one.
type Clients interface {
	// Clients returns the places of the clients' pods, ClientPod first.
	Clients() []Place
}

// MemberVolumes is a network whose members have volumes of their own (experiment.Needs.MemberVolume), which are
// empty at first, and removed with the site.
type MemberVolumes interface {
	// MemberVolume returns the directory of the volume of member i, from 1, in the member's pod, or "".
	MemberVolume(i int) string
}

// Datagrams is a network on which single datagrams can be sent.
type Datagrams interface {
	// DeliverBetween sends one UDP datagram between the own addresses of two pods. It reports whether the
	// datagram arrived within the limit.
	DeliverBetween(ctx context.Context, from, to Place, payload []byte, limit time.Duration) (bool, error)
}

// Volume is a site with a volume in the client's pod.
type Volume interface {
	// Volume returns the mounted directory, or the path of the block device, in the client's pod.
	Volume() string
}

// Wire is a site on which the frames between the nodes can be observed.
type Wire interface {
	// Watch starts counting the frames on the wire that contain pattern. stop stops counting.
	Watch(ctx context.Context, pattern []byte) (stop func() (frames int, err error), err error)
}

// Shaper is a site whose wire can be changed.
type Shaper interface {
	// Shape sets the properties of the wire in both directions, including all devices that lead to it.
	Shape(Shape) error
	// Shaped reads the present properties of the wire from the kernel.
	Shaped() (Shape, error)
	// Unshaped returns the properties that the testbed gives to the wire.
	Unshaped() Shape
}

// Shape holds the properties of a wire, which hold in each direction.
type Shape struct {
	Rate  float64       // bit/s; 0: unlimited
	MTU   int           // size of the largest IP packet, in bytes
	Delay time.Duration // delay of each packet, without the delay that the rate causes
	Loss  float64       // share of packets lost at random, from 0 to 1
}

// Nodes is a site with nodes whose network a layer can change.
type Nodes interface {
	// Nodes returns the client's node, the server's node, and the other nodes of members.
	Nodes() []Node
}

// Node is one node's network.
type Node interface {
	// Place is the place of commands on this node.
	Place() Place
	// Address is the node's address on the wire.
	Address() netip.Addr
	// PodNetwork is the network of the pods on this node.
	PodNetwork() netip.Prefix
	// Pods returns the places of the pods on this node, at least one.
	Pods() []Place
	// MTU is the size of the largest IP packet on the wire, in bytes.
	MTU() int
	// Do runs f on an OS thread in the node's network namespace. Goroutines of f would be outside of it.
	Do(f func() error) error
	// RouteVia routes the node's traffic to prefix, the pod network of another node, over the interface dev,
	// with packets of at most mtu bytes from the node's pods. If dev is "", it restores the route over the
	// wire.
	RouteVia(prefix netip.Prefix, dev string, mtu int) error
}

// Sidecars is a site whose pods can have a container for a layer's own processes. These share the pod's
// network, and may have more rights than the programs under test.
type Sidecars interface {
	// AddSidecar requests a sidecar in the pod at a place, before the site is ready, and returns its place.
	AddSidecar(pod Place, want Sidecar) (Place, error)
	// SidecarPods lists the pods that can have a sidecar: first the clients' pods, then those of the service.
	SidecarPods() []Place
	// PodAddresses returns the pod's own addresses, one of each IP family, after the site is ready.
	PodAddresses(pod Place) []netip.Addr
}

// Sidecar is a container for a layer's own processes, which run as root. The layer reports their usage.
type Sidecar struct {
	Name         string   // unique in the pod: "mtls"
	Image        string   // image with the layer's programs; "": Tare's own image
	Capabilities []string // capabilities of the processes, without CAP_: "NET_ADMIN"
}

// Scratch is a site on this machine with a directory for files that programs under test need.
type Scratch interface {
	// Scratch returns the directory, made by the first call, readable for all users, and removed with the site.
	Scratch() (string, error)
}

// Cgrouped is a site on this machine that can put programs under test into a cgroup of its own.
type Cgrouped interface {
	// Cgroup opens the directory of a version 2 cgroup, below which later programs under test each get a cgroup
	// of their own. ServerPod is for programs in the pods of members, ClientPod for all others, and Host for
	// both. The cgroup is removed with the site, or by tare clean.
	Cgroup(where Place) (*os.File, error)
}

// Wrapper is a site whose commands under test run in the wrappers of layers.
type Wrapper interface {
	// Wrapped returns the command in its wrappers, for callers that start the command in another way.
	Wrapped(where Place, cmd Command) (Command, error)
}

// Mender is a site that may break while it is in use, and can be repaired.
type Mender interface {
	// Mend checks the site before a trial and repairs it. If this takes longer, and the trial cannot be valid,
	// the error is a *Disturbance. If the site must be opened anew, it is a *Broken. Other errors are final.
	Mend(ctx context.Context) error
}

// Closer is a site that can be taken down alone, while its testbed stays. It can then be opened anew.
type Closer interface {
	// Close takes the site down. A second call does nothing. Several sites of a testbed may be closed at once.
	Close() error
}

// VolumeStack is a site whose volume, in the client's pod, is a stack of parts on this machine. The stack has
// a device, a file system on the device, and parts from layers. Staged.Ready makes the stack. Layers must
// request their parts before that.
//
//	device of the testbed → VolumePart.Device → file system → VolumePart.Directory → the workload
type VolumeStack interface {
	Volume
	BackedVolume
	// AddVolumePart requests a part. The first requested part is the nearest to the workload.
	AddVolumePart(VolumePart) error
	// InVolume runs f on an OS thread with the mounts of the client's pod. Goroutines of f would not see them.
	InVolume(f func() error) error
	// VolumeMark returns the result of a search for a marker that was written to the complete stack.
	VolumeMark() VolumeMark
}

// BackedVolume is a site that knows the files behind its volume.
type BackedVolume interface {
	// VolumeBacking lists the files and directories that store the volume's data, in the client's pod. Their
	// data in the page cache have not reached the device.
	VolumeBacking() []string
}

// VolumePart is a layer's part of a volume.
type VolumePart struct {
	Name     string // name of the layer
	Encrypts bool   // set if the part encrypts all data before they reach the device
	// Device makes a new device from the device below it, and returns its path; nil: the part is above the file
	// system. Objects outside of Tare, such as a device mapping of the kernel, must have the name name, or name
	// followed by an underscore and a suffix. They are removed with the volume, and by tare clean.
	Device func(ctx context.Context, device, name string) (string, error)
	// Directory returns the directory in place of the empty directory dir; nil: it is below the file system.
	Directory func(ctx context.Context, dir string) (string, error)
	// Backing lists the directories in which the part stores its data. It is called after the part is made.
	Backing func() []string
}

// VolumeMark is the result of searching the device of a volume for a marker.
type VolumeMark struct {
	Found     int      // number of times the marker was found in clear
	Scanned   int64    // number of bytes searched: all that had been written to the device
	Encrypted []string // names of the layers whose parts encrypt
}
