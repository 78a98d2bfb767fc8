package pause

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Timer waits again and again, for one goroutine at a time.
type Timer struct {
	file *os.File // timerfd
	raw  syscall.RawConn
	buf  [8]byte
}

// NewTimer makes a timer. It should be closed; one that is not is closed when it is collected.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	raw, err := file.SyscallConn()
	return &Timer{file: file, raw: raw}, err
}

// Wait waits for d, or until the timer is closed.
func (t *Timer) Wait(d time.Duration) {
	if d <= 0 {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if t.raw.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) }) == nil { // it takes any time
		_, _ = t.file.Read(t.buf[:])
	}
}

// Close closes the timer, and ends a Wait.
func (t *Timer) Close() { _ = t.file.Close() }
