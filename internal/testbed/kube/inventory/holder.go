package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"tare/internal/run/machine/proc"
	"tare/internal/text/safetext"
)

// holder identifies the process that works on a session.
type holder struct {
	Host      string    `json:"host"`
	Boot      string    `json:"boot,omitempty"`      // boot id of the process's kernel
	Processes string    `json:"processes,omitempty"` // PID namespace of the process
	PID       int       `json:"pid"`
	Ticks     uint64    `json:"ticks,omitempty"` // start in ticks since boot; a later process with the same PID has another start
	Start     time.Time `json:"start"`
	Run       string    `json:"run,omitempty"` // run directory
	ID        string    `json:"id,omitempty"`  // id of the run, see Session
}

// thisProcess returns this process as the holder of a run.
func thisProcess(run string) holder {
	h := holder{PID: os.Getpid(), Start: time.Now().UTC().Truncate(time.Second), Run: run}
	h.Host, _ = os.Hostname()
	h.Boot, h.Processes = machineKey()
	h.Ticks, _ = startTicks(h.PID)
	return h
}

// machineKey identifies the kernel and the PID namespace of this process. If both are the same for two
// processes, a PID names the same process for both.
func machineKey() (boot, processes string) {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	processes, _ = os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(id)), processes
}

// startTicks returns the start time of a process, in ticks since boot. Tests replace it with
// a function that sees no processes.
var startTicks = func(pid int) (uint64, error) {
	stat, err := proc.Read(pid)
	return stat.Starttime, err
}

// state is the state of a holder, as far as this process can see the holder.
type state int

const (
	unseen state = iota // the holder may be alive: only its heartbeat can show this
	living
	ended
)

// state looks for the holder among the processes of this machine. Only Linux has /proc, and /proc may hide
// the processes of other users. If the start time of a process cannot be read, the process is unseen.
func (h holder) state() state {
	boot, processes := machineKey()
	if h.Boot == "" || h.Boot != boot || h.Processes == "" || h.Processes != processes || h.PID <= 0 {
		return unseen
	}
	process, err := os.FindProcess(h.PID)
	if err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return ended
	}
	ticks, err := startTicks(h.PID)
	switch {
	case err != nil || h.Ticks == 0:
		return unseen
	case ticks != h.Ticks:
		return ended
	}
	return living
}

// String returns the holder as JSON, as records store it.
func (h holder) String() string {
	text, _ := json.Marshal(h) // cannot fail for strings and numbers
	return string(text)
}

// who returns the holder's name for messages.
func (h holder) who() string {
	return fmt.Sprintf("process %d on %s", h.PID, safetext.Head(h.Host, 64))
}

// readHolder parses the JSON that String returns.
func readHolder(text string) (h holder, err error) {
	err = json.Unmarshal([]byte(text), &h)
	return h, err
}

// sameRun reports whether two holders work on the same run.
func (h holder) sameRun(o holder) bool { return h.ID != "" && h.ID == o.ID }
