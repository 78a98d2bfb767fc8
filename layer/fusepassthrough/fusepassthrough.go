// Package fusepassthrough is the layer that puts a file system outside of the kernel (FUSE) in
// front of a volume which does nothing but hand everything on: bindfs.
//
//   - fuse-passthrough
//
// It is no security layer, and the arm to compare an encrypting file system of FUSE with, such as
// gocryptfs: what both have in common is the way through FUSE, the loss of direct I/O, and a process
// that serves requests in several threads. What else differs is not the cipher alone: bindfs
// is written in C on libfuse, gocryptfs in Go on go-fuse, and the sizes and times up to which they
// let the kernel keep attributes are their own. The check says so.
//
// Proof, before every trial: the volume is a mount of FUSE whose process runs. Once for each set-up:
// a marker that was written through the volume is on the device in clear, where nothing else encrypts.
package fusepassthrough

import (
	"context"

	"tare/experiment"
	"tare/layer"
	"tare/layer/volumes"
	"tare/testbed"
)

const (
	name    = "fuse-passthrough"
	program = "bindfs"
)

// Config is the parameters of the layer, which has none.
type Config struct{}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "the volume through a file system outside of the kernel that does not encrypt: the baseline of gocryptfs (bindfs)",
	New:     func() layer.Layer { return &Config{} },
	Probe:   volumes.Probe(program, program, "apt-get install bindfs", &Config{}),
}

// Declare says that the layer is for volumes of this machine, and takes bindfs.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs: volumes.Needs, Elsewhere: volumes.Elsewhere,
		Programs: []experiment.Program{{Name: program, Where: experiment.OnMachine}},
		Tools:    []experiment.Tool{{Name: program, Version: []string{"--version"}}},
	}
}

// Up asks for the part of the volume.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	daemon := &volumes.Daemon{Kind: name, Files: "files", Mode: 0o777, Through: "through", Command: command}
	up, err := daemon.Up(s)
	if err != nil {
		return nil, err
	}
	up.Settle = func(context.Context) ([]layer.Check, error) {
		checks := volumes.Clear(name, daemon.Stack)
		for i := range checks {
			checks[i].Caveat = "the pass-through is bindfs, in C on libfuse: between it and gocryptfs, in Go on go-fuse, there is more than the cipher"
		}
		return checks, nil
	}
	return up, nil
}

// command starts bindfs. Its manual warns that requests of several users at a time may be served with the rights of
// another. Here there is one user, and gocryptfs has threads, too.
func command(_ context.Context, files, through string) (testbed.Command, error) {
	return testbed.Command{Args: []string{program, "-f", "--multithreaded", "-o", "subtype=" + program, files, through}}, nil
}

// ProveOff shows that the volume is no mount of bindfs.
func (c *Config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	return volumes.Absent(name, program, stack)
}
