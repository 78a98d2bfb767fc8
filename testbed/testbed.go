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
	"bytes"
	"context"
	"errors"

	"tare/experiment"
)

// Site is the surroundings of one arm at one level of the testbed.
type Site interface {
	// Start starts a command. The context kills it when done.
	Start(ctx context.Context, where Place, cmd Command) (Process, error)
}

// Run starts a command at a place of a site and waits for its end.
func Run(ctx context.Context, site Site, where Place, cmd Command) (Usage, error) {
	process, err := site.Start(ctx, where, cmd)
	if err != nil {
		return Usage{}, err
	}
	return process.Wait()
}

// Output runs a program at a site and gives what it prints on standard output. The error has the end of what it prints on the other.
func Output(ctx context.Context, site Site, where Place, args ...string) ([]byte, error) {
	var out bytes.Buffer
	_, err := Run(ctx, site, where, Command{Args: args, Stdout: &out})
	return out.Bytes(), err
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

// Unwrapper is a Site around another.
type Unwrapper interface {
	Unwrap() Site
}

// As finds the optional interface T in a site or in what it wraps.
func As[T any](s Site) (T, bool) { return find[T](s) }

// Need is As for what cannot be done without: lack is the error where the site has none.
func Need[T any](s Site, lack string) (T, error) {
	t, ok := As[T](s)
	if !ok {
		return t, errors.New(lack)
	}
	return t, nil
}

// find finds T in what wraps others of its kind, as sites and processes do.
func find[T, Wrapping any](w Wrapping) (T, bool) {
	for {
		if t, ok := any(w).(T); ok {
			return t, true
		}
		u, ok := any(w).(interface{ Unwrap() Wrapping })
		if !ok {
			var zero T
			return zero, false
		}
		w = u.Unwrap()
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

// Broken says what of a site is damaged in a way that only opening it anew repairs.
type Broken struct{ What string }

// Error says what is damaged.
func (e *Broken) Error() string { return e.What }
