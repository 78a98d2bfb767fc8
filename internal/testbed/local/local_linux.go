package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"tare/internal/experiment"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
)

// Testbed makes sites on this machine.
type Testbed struct {
	owner owned.Owner // identifies this process, in the markers of its commands
	host  *thread     // thread that forks commands outside of nodes

	number int // number of the testbed, unique in this process

	mu     sync.Mutex
	closed bool
	sites  []*site
}

// New makes a testbed, which must be closed. It makes this process the reaper of orphans, so that background commands
// can be ended after a trial.
func New() (*Testbed, error) {
	self, err := owned.This()
	if err != nil {
		return nil, fmt.Errorf("local testbed: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("local testbed: become the reaper of orphaned processes: %w", err)
	}
	self.Mark()
	commands.Scopes = scopes()
	host, err := startThread(func() error { return nil })
	if err != nil {
		return nil, fmt.Errorf("local testbed: %w", err)
	}
	return &Testbed{owner: self, host: host, number: int(testbeds.Add(1))}, nil
}

// Open sets up a site. If the site needs no network, it has only the place Host, and Open ignores the level.
func (t *Testbed) Open(ctx context.Context, want testbed.Request) (testbed.Site, error) {
	name := want.Name
	s := &site{bed: t, name: name, places: map[testbed.Place]*thread{testbed.Host: t.host}}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !want.Needs.Pods() {
		return s, t.add(s)
	}
	parameters, ok := want.Level.(*experiment.Local)
	if !ok || parameters == nil {
		return nil, fmt.Errorf("site %s: a local network needs the parameters of a local testbed, not %T", name, want.Level)
	}
	n, err := openNetwork(s, parameters.Link.Rate.OrZero(), parameters.Link.MTU.One(), max(want.Needs.Members, 1), parameters.Nodes.OrZero())
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	var made testbed.Site = n
	if want.Needs.MemberVolume > 0 {
		err = n.makeVolumes()
	}
	if want.Needs.Volume != nil && err == nil {
		how := experiment.LocalVolume{}
		if parameters.Volume != nil {
			how = *parameters.Volume
		}
		made, err = n.openVolume(*want.Needs.Volume, how)
	}
	if err == nil {
		err = t.add(s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("site %s: %w", name, err), s.Close())
	}
	return made, nil
}

func (t *Testbed) add(s *site) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errors.New("local testbed: already closed")
	}
	t.sites = append(t.sites, s)
	return nil
}

// Close kills all running programs, and takes down all sites. Later calls do nothing.
func (t *Testbed) Close() error {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	for _, p := range commands.Running(t) {
		err = errors.Join(err, p.Kill())
	}
	_, left := endMarked(context.Background(), func(m marker) bool { return m.owner == t.owner && m.bed == t.number })
	err = errors.Join(err, left)
	for _, s := range t.sites { // no site is added meanwhile, since a closed testbed opens none
		err = errors.Join(err, s.Close())
	}
	t.host.stop()
	return err
}

type site struct {
	bed     *Testbed
	name    string
	places  map[testbed.Place]*thread
	network *network // nil if the site has no network
	volume  *volume  // volume of the client's pod; nil if there is none

	mu      sync.Mutex
	scratch string // "" if none was made
	groups  groups
}

func (s *site) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	place, ok := s.places[where]
	if !ok && s.network != nil {
		return nil, fmt.Errorf("site %s has no %s", s.name, where)
	}
	if !ok {
		return nil, fmt.Errorf("site %s has no %s: it was opened without a network", s.name, where)
	}
	return s.bed.start(ctx, place, s.groupOf(where, cmd), cmd)
}

func (s *site) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.groups.remove()
	if s.scratch != "" {
		err = errors.Join(err, owned.Remove(s.scratch))
	}
	s.groups, s.scratch = groups{}, ""
	if s.network == nil {
		return err
	}
	err = errors.Join(err, s.volume.close())
	s.network.close()
	for _, dir := range s.network.volumes {
		err = errors.Join(err, owned.Remove(dir))
	}
	s.network, s.volume = nil, nil
	return err
}

// thread is an OS thread that runs functions in turn. Each place has its own: namespaces and children's death signals
// belong to threads.
type thread struct {
	work chan func()
	end  chan struct{}
	once sync.Once
	gone chan struct{}
}

var errStopped = errors.New("the site is closed")

func startThread(setup func() error) (*thread, error) {
	t := &thread{work: make(chan func()), end: make(chan struct{}), gone: make(chan struct{})}
	onOwnThread(func() {
		defer close(t.gone)
		for {
			select {
			case f := <-t.work:
				f()
			case <-t.end:
				return
			}
		}
	})
	if err := t.do(setup); err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

func (t *thread) do(f func() error) error {
	done := make(chan error, 1)
	select {
	case t.work <- func() { done <- f() }:
		return <-done
	case <-t.end:
		return errStopped
	}
}

func (t *thread) stop() {
	t.once.Do(func() { close(t.end) })
	<-t.gone
}

// onOwnThread runs f on a new OS thread, which ends with f. It avoids the main thread, which cannot end, and whose
// namespace counts as the process's.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// This goroutine keeps the main thread busy. The next goroutine therefore gets another thread.
		elsewhere := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(elsewhere)
			f()
		}()
		<-elsewhere
		runtime.UnlockOSThread()
	}()
}
