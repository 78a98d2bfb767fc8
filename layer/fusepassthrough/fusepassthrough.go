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
	"os"
	"path/filepath"

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
	Probe: func(ctx context.Context) []testbed.Finding {
		return volumes.Probe(ctx, program, program, "apt-get install bindfs", &Config{})
	},
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
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	daemon := volumes.Daemon{Kind: name, Site: s.Site, Stack: stack}
	from := ""
	err = stack.AddVolumePart(testbed.VolumePart{
		Name: name,
		Directory: func(ctx context.Context, dir string) (string, error) {
			from = filepath.Join(dir, "files")
			through := filepath.Join(dir, "through")
			err := stack.InVolume(func() error {
				if err := os.Mkdir(from, 0o777); err != nil {
					return err
				}
				return os.Mkdir(through, 0o777)
			})
			if err != nil {
				return "", err
			}
			// Its manual warns that requests of several users at a time may be served with the rights of
			// another. Here there is one user, and gocryptfs has threads, too.
			return through, daemon.Mount(ctx, testbed.Command{Args: []string{program, "-f", "--multithreaded", "-o", "subtype=" + program, from, through}}, through)
		},
		Backing: func() []string { return []string{from} },
	})
	if err != nil {
		return nil, err
	}
	return &layer.Active{
		Settle: func(context.Context) ([]layer.Check, error) {
			checks := volumes.Clear(name, stack)
			for i := range checks {
				checks[i].Caveat = "the pass-through is bindfs, in C on libfuse: between it and gocryptfs, in Go on go-fuse, there is more than the cipher"
			}
			return checks, nil
		},
		Before: func(context.Context, testbed.Site) ([]layer.Check, error) {
			check, err := daemon.Check()
			return []layer.Check{check}, err
		},
		Costs: daemon.Costs, Down: daemon.Down,
	}, nil
}

// ProveOff shows that the volume is no mount of bindfs.
func (c *Config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	check, err := volumes.Absent(name, program, stack)
	return []layer.Check{check}, err
}
