package testbed

import "context"

// VolumeStack is a site whose volume in the client's pod is made of parts on this machine: a
// device, a file system on it, and what layers put between these or above them. It is made by
// Staged.Ready, and so layers ask for their parts before that.
//
//	device of the testbed → VolumePart.Device → file system → VolumePart.Directory → the workload
type VolumeStack interface {
	Volume
	BackedVolume
	// AddVolumePart asks for a part. Of several, the first one is the nearest to the workload.
	AddVolumePart(VolumePart) error
	// InVolume runs f on an OS thread that sees the mounts of the client's pod. f must not
	// start goroutines that rely on that.
	InVolume(f func() error) error
	// VolumeMark is what became of a marker that was written to the volume when all of it was made.
	VolumeMark() VolumeMark
}

// BackedVolume is a site that knows the files behind its volume.
type BackedVolume interface {
	// VolumeBacking lists the files, and the directories of files, that hold what is written to the
	// volume, as seen in the client's pod. What the page cache holds of them did not reach the device.
	VolumeBacking() []string
}

// VolumePart is what a layer makes of a volume.
type VolumePart struct {
	Name string // of the layer
	// Encrypts: nothing that is written through it is on the device in clear.
	Encrypts bool
	// Device gives the device to be used in place of one: nil where the part is above the file
	// system. The name is free for what lives outside of Tare, such as a mapping of the kernel: what
	// has it, or begins with it and an underscore, is removed with the volume, and by tare clean.
	Device func(ctx context.Context, device, name string) (string, error)
	// Directory gives the directory to be used in place of an empty one; nil where the part is below
	// the file system.
	Directory func(ctx context.Context, dir string) (string, error)
	// Backing lists directories of files in which the part stores what it is given, once it is made.
	Backing func() []string
}

// VolumeMark is what is to be seen of a marker on the device that a volume is made of.
type VolumeMark struct {
	Found     int      // how often it is there in clear
	Scanned   int64    // bytes of the device that were searched, which are all that had been written
	Encrypted []string // the parts that encrypt, by the names of their layers
}
