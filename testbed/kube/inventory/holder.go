package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"tare/machine/proc"
	"tare/safetext"
)

// holder is the process that carries out a session.
type holder struct {
	Host      string    `json:"host"`
	Boot      string    `json:"boot,omitempty"`      // of the kernel that it runs on
	Processes string    `json:"processes,omitempty"` // its PID namespace
	PID       int       `json:"pid"`
	Ticks     uint64    `json:"ticks,omitempty"` // start of the process, since boot: tells it from a later one with its number
	Start     time.Time `json:"start"`
	Run       string    `json:"run,omitempty"` // directory
	ID        string    `json:"id,omitempty"`  // of the run: see Session
}

// thisProcess is the holder that this process is.
func thisProcess(run string) holder {
	h := holder{PID: os.Getpid(), Start: time.Now().UTC().Truncate(time.Second), Run: run}
	h.Host, _ = os.Hostname()
	h.Boot, h.Processes = machineKey()
	h.Ticks, _ = startOf(h.PID)
	return h
}

// machineKey names the kernel and the PID namespace of this process. Where both are
// the same, so are the processes that PIDs mean.
func machineKey() (boot, processes string) {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	processes, _ = os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(id)), processes
}

// startOf is when a process started, in ticks since boot. Tests replace it by one that
// sees no processes.
var startOf = func(pid int) (uint64, error) {
	stat, err := proc.Read(pid)
	return stat.Starttime, err
}

// state is what this process can see of a holder.
type state int

const (
	unseen state = iota // it may live: its heartbeat tells
	living
	ended
)

// state looks for the holder among the processes here. On some machines /proc hides
// the processes of other users, and on systems other than Linux there is no /proc: a
// process whose start cannot be read is unseen.
func (h holder) state() state {
	boot, processes := machineKey()
	if h.Boot == "" || h.Boot != boot || h.Processes == "" || h.Processes != processes || h.PID <= 0 {
		return unseen
	}
	if process, err := os.FindProcess(h.PID); err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return ended
	}
	ticks, err := startOf(h.PID)
	switch {
	case err != nil || h.Ticks == 0:
		return unseen
	case ticks != h.Ticks:
		return ended
	}
	return living
}

// String is the holder as it is written down.
func (h holder) String() string {
	text, _ := json.Marshal(h) // plain fields
	return string(text)
}

// who names the holder in a message.
func (h holder) who() string {
	return fmt.Sprintf("process %d on %s", h.PID, safetext.Head(h.Host, 64))
}

// readHolder reads what String wrote.
func readHolder(text string) (h holder, err error) {
	err = json.Unmarshal([]byte(text), &h)
	return h, err
}

// sameRun says whether another process carried out the same run.
func (h holder) sameRun(o holder) bool { return h.ID != "" && h.ID == o.ID }
