package pause

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timer waits repeatedly, for one goroutine at a time.
type timer struct {
	file *os.File // timerfd
	raw  syscall.RawConn
	buf  [8]byte
}

// NewTimer makes a timer, which should be closed. The garbage collector closes a forgotten timer.
func NewTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	raw, err := file.SyscallConn()
	return &timer{file: file, raw: raw}, err
}

// Wait waits for the time d. It returns early if the timer is closed.
func (t *timer) Wait(d time.Duration) {
	if d <= 0 {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if t.raw.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) }) == nil { // cannot fail on an open timer
		_, _ = t.file.Read(t.buf[:])
	}
}

// Close closes the timer, and ends a Wait.
func (t *timer) Close() { _ = t.file.Close() }
