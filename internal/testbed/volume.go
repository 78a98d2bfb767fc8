package testbed

import "context"

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
	// InVolume runs f on an OS thread that sees the mounts of the client's pod. f must not start goroutines
	// that need these mounts.
	InVolume(f func() error) error
	// VolumeMark returns the result of a search for a marker on the device. The marker was written to the
	// volume when the stack was complete.
	VolumeMark() VolumeMark
}

// BackedVolume is a site that knows the files behind its volume.
type BackedVolume interface {
	// VolumeBacking lists the files and directories that store the volume's data, as the client's pod sees
	// them. Data of these files that are in the page cache have not reached the device.
	VolumeBacking() []string
}

// VolumePart is a layer's part of a volume.
type VolumePart struct {
	Name string // name of the layer
	// Encrypts is set if the part encrypts all data before they reach the device.
	Encrypts bool
	// Device makes a new device from the device below it, and returns the path of the new device; nil: the
	// part is above the file system. The part may use name for objects that exist outside of Tare, such as a
	// device mapping of the kernel. The name of such an object is name, or name followed by an underscore and
	// a suffix. These objects are removed with the volume, and by tare clean.
	Device func(ctx context.Context, device, name string) (string, error)
	// Directory returns the directory that is used in place of the empty directory dir; nil: the part is
	// below the file system.
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
