package testbed

import (
	"context"
	"net/netip"
	"os"
	"time"
)

// This file has the optional interfaces of a Site, in the order of the package comment. The function As finds these
// interfaces.

// Staged is a site that Open only prepares. Layers can still change it before Ready creates it.
type Staged interface {
	// Ready makes the site, with the changes that layers have requested, and waits until it is up. Several sites may be
	// made at the same time.
	Ready(ctx context.Context) error
}

// Remote is a site with places that have another file system than this machine. Programs are looked up in the place's
// file system.
type Remote interface {
	// Self returns the path of this program at a place, for helpers. For a place on this machine, it returns "".
	Self(where Place) string
}

// Path is a route from the client pod to the server pod.
type Path string

// These are the paths that published studies measure.
const (
	PodToPod     Path = "pod-to-pod"     // path to the server pod's own address
	PodToService Path = "pod-to-service" // path to the service's address, which the client's node translates to a member's
	NodeToNode   Path = "node-to-node"   // path between the nodes, outside of any pod
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

// Network is a site with two nodes, a pod on each node, and a service. The server is the service's first member.
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
	// Members returns the addresses of the members' pods, first the server's on the path pod-to-pod. On a cluster, the
	// addresses are known when the site is ready.
	Members() []netip.Addr
}

// Clients is a network with several client pods (experiment.Needs.Clients). Other networks have one client pod.
type Clients interface {
	// Clients returns the places of the clients' pods, ClientPod first.
	Clients() []Place
}

// MemberVolumes is a network whose members have volumes (Needs.MemberVolume). Volumes are empty at first, and are
// removed with the site.
type MemberVolumes interface {
	// MemberVolume returns the directory of the volume in the pod of member i, counted from 1; "" if there is none.
	MemberVolume(i int) string
}

// Datagrams is a network on which single datagrams can be sent.
type Datagrams interface {
	// DeliverBetween sends one UDP datagram between two pods. It reports whether the datagram arrived within the limit.
	DeliverBetween(ctx context.Context, from, to Place, payload []byte, limit time.Duration) (bool, error)
}

// Volume is a site with a volume in the client's pod.
type Volume interface {
	// Volume returns the mounted directory or the path of the block device, as the client's pod sees it.
	Volume() string
}

// Wire is a site on which the frames between the nodes can be observed.
type Wire interface {
	// Watch counts the frames on the wire that contain pattern, until stop is called. stop returns the count.
	Watch(ctx context.Context, pattern []byte) (stop func() (frames int, err error), err error)
}

// Shaper is a site whose wire can be changed.
type Shaper interface {
	// Shape sets the properties of the wire in both directions, and of all devices between the wire and the pods.
	Shape(Shape) error
	// Shaped reads the present properties of the wire from the kernel.
	Shaped() (Shape, error)
	// Unshaped returns the properties that the wire has if no layer changes them.
	Unshaped() Shape
}

// Shape holds the properties of a wire. They apply to each direction.
type Shape struct {
	Rate  float64       // bit/s; 0: unlimited
	MTU   int           // size of the largest IP packet, in bytes
	Delay time.Duration // delay of each packet, without the delay that the rate causes
	Loss  float64       // share of packets lost at random, from 0 to 1
}

// Nodes is a site with nodes. Layers can change the nodes' networks.
type Nodes interface {
	// Nodes returns the client's node, the server's node, and the other nodes of members.
	Nodes() []Node
}

// Node is the network of one node.
type Node interface {
	// Place returns the place of commands on this node.
	Place() Place
	// Address returns the node's address on the wire.
	Address() netip.Addr
	// PodNetwork returns the network of the pods on this node.
	PodNetwork() netip.Prefix
	// Pods returns the places of the pods on this node, at least one.
	Pods() []Place
	// MTU returns the size of the largest IP packet on the wire, in bytes.
	MTU() int
	// Do runs f on an OS thread in the node's network namespace. Goroutines that f starts are outside of the namespace.
	Do(f func() error) error
	// RouteVia routes the node's traffic to prefix, another node's pod network, over dev; "": over the wire. Packets of
	// its pods then have at most mtu bytes.
	RouteVia(prefix netip.Prefix, dev string, mtu int) error
}

// Sidecars is a site whose pods can have a container for a layer's own processes. These share the pod's network, and
// may have more rights than subjects.
type Sidecars interface {
	// AddSidecar requests a sidecar in a pod, before the site is ready, and returns the sidecar's place.
	AddSidecar(pod Place, want Sidecar) (Place, error)
	// SidecarPods lists the pods that can have a sidecar: first the clients' pods, and then the members' pods.
	SidecarPods() []Place
	// PodAddresses returns the pod's addresses, one of each IP family. They are known when the site is ready.
	PodAddresses(pod Place) []netip.Addr
}

// Sidecar is a container for a layer's own processes. They run as root, and the layer reports their usage.
type Sidecar struct {
	Name         string   // unique in the pod: "mtls"
	Image        string   // image with the layer's programs; "": Tare's own image
	Capabilities []string // capabilities of the processes, without CAP_: "NET_ADMIN"
}

// Scratch is a site on this machine with a directory for files of programs under test.
type Scratch interface {
	// Scratch returns the directory, which all users can read. The first call makes it. It is removed with the site.
	Scratch() (string, error)
}

// Cgrouped is a site on this machine that can put the programs under test into a cgroup.
type Cgrouped interface {
	// Cgroup opens the version 2 cgroup for subjects at a place. Each later program gets its own cgroup below this
	// cgroup. ServerPod means the pods of all members, Host all places, and ClientPod all places except those pods. The
	// site's end or tare clean removes the cgroup.
	Cgroup(where Place) (*os.File, error)
}

// Wrapper is a site whose commands under test run in the layers' wrappers.
type Wrapper interface {
	// Wrapped returns the command with its wrappers, for callers that do not start the command by Site.Start.
	Wrapped(where Place, cmd Command) (Command, error)
}

// Mender is a site that may break during a run, and can be repaired.
type Mender interface {
	// Mend checks and repairs the site before a trial. A *Disturbance means that the trial cannot be valid for now, a
	// *Broken that the site must be opened anew. Other errors end the run.
	Mend(ctx context.Context) error
}

// Closer is a site that can be closed alone, while its testbed and other sites stay. It can then be opened anew.
type Closer interface {
	// Close takes the site down. Later calls do nothing. Several sites of a testbed may be closed at the same time.
	Close() error
}

// VolumeStack is a site whose volume, in the client's pod, is a stack of parts on this machine. Layers request their
// parts before Staged.Ready makes the stack.
//
//	device of the testbed → VolumePart.Device → file system → VolumePart.Directory → the workload
type VolumeStack interface {
	Volume
	BackedVolume
	// AddVolumePart requests a part of the volume, such as encryption. Of several parts, the one requested first is the
	// nearest to the workload.
	AddVolumePart(VolumePart) error
	// InVolume runs f on an OS thread that sees the mounts of the client's pod. Goroutines that f starts do not see
	// these mounts.
	InVolume(f func() error) error
	// VolumeMark returns the result of the search for a marker on the device. The marker was written through all parts
	// of the volume.
	VolumeMark() VolumeMark
}

// BackedVolume is a site that knows the files that store its volume.
type BackedVolume interface {
	// VolumeBacking lists the files and directories that store the volume's data, as the client's pod sees them. If
	// much of these files is in the page cache after a trial, the trial's I/O went through the cache.
	VolumeBacking() []string
}

// VolumePart is a layer's part of a volume.
type VolumePart struct {
	Name     string
	Encrypts bool // set if the part encrypts all data before they reach the device
	// Device makes a device on the given device, and returns the new device's path; nil: the part works above the file
	// system. Kernel objects for the new device must be called name, or begin with name and an underscore: Tare removes
	// them by their names.
	Device func(ctx context.Context, device, name string) (string, error)
	// Directory makes a directory in place of the empty directory dir, such as an encrypted one; nil: the part is below
	// the file system.
	Directory func(ctx context.Context, dir string) (string, error)
	// Backing lists the directories in which the part stores its data. It may be called only after the part is made.
	Backing func() []string
}

// VolumeMark is the result of a search for a marker in the bytes of a volume's device.
type VolumeMark struct {
	Found     int      // number of times that the device contains the marker in clear
	Scanned   int64    // number of bytes searched: all bytes that had been written to the device
	Encrypted []string // names of the layers that encrypt the volume's data
}
