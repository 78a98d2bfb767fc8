package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
	"tare/internal/text/safetext"
)

// Daemon is the process of a file system outside the kernel (FUSE), in the client's pod. The file system's
// mount is visible in that pod only, and ends with the process.
type Daemon struct {
	Kind     string // kind of the layer
	Encrypts bool
	// Files is the name of the directory that stores the files; Mode is its mode. Through is the name of the
	// directory through which programs see the files.
	Files, Through string
	Mode           os.FileMode
	// Command returns the command that starts the daemon in the foreground.
	Command func(ctx context.Context, files, through string) (testbed.Command, error)
	Site    testbed.Site
	Stack   testbed.VolumeStack

	files   string // path of the directory Files
	at      string // mount point
	process testbed.Process
	ended   chan struct{}
	how     error // error with which the daemon ended
	said    process.Tail
}

const mountLimit = 20 * time.Second // how long the mount may take to appear

// Up asks the site for a part of the volume: the daemon's file system. It returns the active layer without
// its Settle.
func (d *Daemon) Up(s *layer.Session) (_ *layer.Active, err error) {
	d.Site = s.Site
	if d.Stack, err = Stack(s.Site); err != nil {
		return nil, err
	}
	part := testbed.VolumePart{Name: d.Kind, Encrypts: d.Encrypts, Directory: d.put, Backing: func() []string { return []string{d.files} }}
	if err := d.Stack.AddVolumePart(part); err != nil {
		return nil, err
	}
	return &layer.Active{Before: d.before, Costs: d.costs, Down: d.down}, nil
}

// put creates the directories Files and Through below dir, and mounts the file system.
func (d *Daemon) put(ctx context.Context, dir string) (string, error) {
	files, through := filepath.Join(dir, d.Files), filepath.Join(dir, d.Through)
	err := d.Stack.InVolume(func() error {
		if err := os.Mkdir(files, d.Mode); err != nil {
			return err
		}
		return os.Mkdir(through, 0o777)
	})
	if err != nil {
		return "", err
	}
	cmd, err := d.Command(ctx, files, through)
	if err != nil {
		return "", err
	}
	d.files = files
	return through, d.mount(ctx, cmd, through)
}

// mount starts the daemon in the foreground. It waits until the daemon has mounted its file system.
func (d *Daemon) mount(ctx context.Context, cmd testbed.Command, at string) error {
	d.at, d.ended = at, make(chan struct{})
	cmd.Stdout, cmd.Stderr = &d.said, &d.said
	process, err := d.Site.Start(context.WithoutCancel(ctx), testbed.ClientPod, cmd)
	if err != nil {
		return err
	}
	d.process = process
	go func() {
		_, d.how = process.Wait()
		close(d.ended)
	}()
	limited, cancel := context.WithTimeout(ctx, mountLimit)
	defer cancel()
	for {
		kind, where, err := mounted(d.Stack, at)
		if err != nil || where == at && strings.HasPrefix(kind, "fuse") {
			return err
		}
		select {
		case <-d.ended:
			return fmt.Errorf("%s has ended: %w: %s", cmd.Args[0], errors.Join(d.how, errors.New("nothing is mounted")), d.last())
		case <-limited.Done():
			return errors.Join(fmt.Errorf("%s has mounted nothing after %v: %s", cmd.Args[0], mountLimit, d.last()), d.down(context.WithoutCancel(ctx)))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// last returns the end of the daemon's output.
func (d *Daemon) last() string { return safetext.Tail(d.said.String(), 400) }

// before shows that the volume goes through the daemon's file system.
func (d *Daemon) before(context.Context, testbed.Site) ([]layer.Check, error) {
	c := layer.Check{Layer: d.Kind, Name: "file system of the volume", Expected: "FUSE, and its process runs"}
	kind, where, err := mounted(d.Stack, d.at)
	c.Observed = kind + ", and its process runs"
	select {
	case <-d.ended:
		c.Observed = fmt.Sprintf("%s, and its process has ended", kind)
	default:
		c.OK = where == d.at && strings.HasPrefix(kind, "fuse")
	}
	if where != d.at {
		c.Observed = "its file system is not mounted"
	}
	return []layer.Check{c}, err
}

// costs returns the CPU time and memory that the daemon has used.
func (d *Daemon) costs() ([]layer.Cost, error) {
	cpu, err := d.process.CPU()
	if err != nil {
		return nil, err
	}
	memory, err := d.process.Memory()
	return []layer.Cost{{Part: "daemon", CPU: cpu, Memory: memory}}, err
}

// down ends the daemon, and with it the mount. It may be called again.
func (d *Daemon) down(context.Context) error {
	if d.process == nil {
		return nil
	}
	err := d.Stack.InVolume(func() error { return detach(d.at) })
	err = errors.Join(err, d.process.Kill())
	<-d.ended
	if err == nil {
		d.process = nil
	}
	return err
}

// Absent checks that the volume is not a mount of the program.
func Absent(kind, program string, stack testbed.VolumeStack) ([]layer.Check, error) {
	is, _, err := mounted(stack, stack.Volume())
	c := layer.Check{Layer: kind, Name: "file system of the volume", Expected: "not of " + program, Observed: is, OK: is != "" && !strings.HasSuffix(is, program)}
	return []layer.Check{c}, err
}
