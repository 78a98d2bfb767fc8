// Package fusepassthrough is the layer that puts a file system outside the kernel (FUSE) in front of a volume: bindfs,
// which passes every operation on to the volume.
//
//   - fuse-passthrough
//
// It gives no security. It is for comparison with FUSE file systems that encrypt, such as gocryptfs: both go through
// FUSE, lose direct I/O, and have a process with several threads. They differ in more than the cipher: bindfs is
// written in C with libfuse, gocryptfs in Go with go-fuse, and the kernel caches their attributes up to different
// limits. A caveat in the report says so.
//
// Proof, before every trial: the volume is a FUSE mount, and its process runs. Once for each set-up, if no other layer
// encrypts: a marker that was written through the volume is on the device in clear.
package fusepassthrough

import (
	"context"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/volumes"
	"tare/internal/testbed"
)

const (
	name    = "fuse-passthrough"
	program = "bindfs"
)

type config struct{}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "the volume through a file system outside the kernel that does not encrypt: the baseline of gocryptfs (bindfs)",
	New:     func() layer.Layer { return &config{} },
	Probe:   volumes.Probe(program, program, "apt-get install bindfs", &config{}),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs: volumes.Needs, Elsewhere: volumes.Elsewhere,
		Programs: []experiment.Program{{Name: program, Where: experiment.OnMachine}},
		Tools:    []experiment.Tool{{Name: program, Version: []string{"--version"}}},
	}
}

func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	// Like gocryptfs, bindfs has several threads. By its manual, a thread may serve one user with another's rights; a
	// trial has only one user.
	command := func(_ context.Context, files, through string) (testbed.Command, error) {
		return testbed.Command{Args: []string{program, "-f", "--multithreaded", "-o", "subtype=" + program, files, through}}, nil
	}
	settle := func(stack testbed.VolumeStack) []layer.Check {
		checks := volumes.Clear(name, stack)
		for i := range checks {
			checks[i].Caveat = "bindfs (in C with libfuse) and gocryptfs (in Go with go-fuse) differ in more than the cipher"
		}
		return checks
	}
	daemon := &volumes.Daemon{Kind: name, Files: "files", Mode: 0o777, Through: "through", Command: command, Settle: settle}
	return daemon.Up(s)
}

func (c *config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	return volumes.Absent(name, program, stack)
}
