package local

import (
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// thread is an OS thread that runs functions one after the other until it is stopped. Each place of a
// site has its own thread, for two reasons: a namespace belongs to the thread that entered it, and the
// death signal of a child depends on the thread that forked it.
type thread struct {
	work chan func()
	end  chan struct{}
	once sync.Once
	gone chan struct{}
}

var errStopped = errors.New("the site is closed")

// startThread starts a thread and runs setup on it first. If that fails, the thread ends and its error
// is returned.
func startThread(setup func() error) (*thread, error) {
	t := &thread{work: make(chan func()), end: make(chan struct{}), gone: make(chan struct{})}
	ready := make(chan error, 1)
	onOwnThread(func() {
		defer close(t.gone)
		if setup != nil {
			if err := setup(); err != nil {
				ready <- err
				return
			}
		}
		ready <- nil
		for {
			select {
			case f := <-t.work:
				f()
			case <-t.end:
				return
			}
		}
	})
	if err := <-ready; err != nil {
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

// stop ends the thread and waits until it runs nothing any more.
func (t *thread) stop() {
	t.once.Do(func() { close(t.end) })
	<-t.gone
}

// onOwnThread runs f on a new OS thread, which ends with f. It never uses the main thread, which cannot
// end. A namespace entered there would also count as that of the whole process.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// This goroutine holds the main thread, and the next goroutine must get another thread.
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
