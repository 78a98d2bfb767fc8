// Package inventory records the objects that Tare makes on a cluster, and removes them.
//
// A run adds each object to a ConfigMap in the cluster (Record) before making it. Each object has the label of the
// run's session (Owner). At its end, a run removes exactly its own objects (Record.End). After a killed run, tare clean
// (Leftovers, Clean) or the resumed run (Record.RemoveEarlier) removes them.
//
// Everyone who may write ConfigMaps can forge a record. The file leftover.go explains why a forged record cannot make
// Tare delete objects that the forger may not delete.
package inventory

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/run/machine/proc"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// These are the labels of all objects that Tare makes.
const (
	ManagedBy  = "app.kubernetes.io/managed-by" // always "tare"
	OwnerLabel = "tare/owner"                   // the Owner: the name of the session
	ArmLabel   = "tare/arm"                     // the arm's name as a DNS label
	// RoleLabel is the role of a pod: client, server (all members), client-node, server-node or node (accounting).
	RoleLabel = "tare/role"
)

// Owner is the random name of one session of a run.
type Owner string

// NewOwner returns a new random name.
func NewOwner() Owner { return Owner(randomHex(5)) }

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// Owns reports whether this session made an object.
func (o Owner) Owns(object metav1.Object) bool { return object.GetLabels()[OwnerLabel] == string(o) }

// Labels returns the labels of an object. If arm is "", the label of the arm is left out. If role is "", the label of
// the role is left out.
func (o Owner) Labels(arm, role string) map[string]string {
	l := map[string]string{ManagedBy: "tare", OwnerLabel: string(o)}
	if arm = cluster.Label(arm, cluster.NameLimit); arm != "" {
		l[ArmLabel] = arm
	}
	if role != "" {
		l[RoleLabel] = role
	}
	return l
}

func (o Owner) valid() bool {
	return o != "" && cluster.Label(string(o), cluster.NameLimit) == string(o)
}

func (o Owner) selector() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: OwnerLabel + "=" + string(o)}
}

func (o Owner) record() string { return "tare-" + string(o) }

// idFile is the file in the run directory with the run's random id, by which its sessions recognise their records.
// Paths and host names are not unique.
const idFile = "cluster-id"

// Session identifies one session of a run.
type Session struct {
	Owner Owner
	Run   string // run directory; "" for none
	id    string // id of the run
}

// NewSession returns a new session of a run. The argument run is the run's directory, or "" for a session without a
// run.
func NewSession(run string) (Session, error) {
	s := Session{Owner: NewOwner(), Run: run}
	if run == "" {
		return s, nil
	}
	var err error
	s.id, err = runID(run)
	return s, err
}

// runID returns the id of the run in a directory. The first call for a run makes the id.
func runID(dir string) (string, error) {
	name := filepath.Join(dir, idFile)
	data, err := os.ReadFile(name)
	if id := strings.TrimSpace(string(data)); err == nil && len(id) == 32 && cluster.Label(id, cluster.NameLimit) == id {
		return id, nil
	}
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	id := randomHex(16)
	return id, os.WriteFile(name, []byte(id+"\n"), 0o644)
}

type holder struct {
	Host      string    `json:"host"`
	Boot      string    `json:"boot,omitempty"` // boot id of the kernel
	Processes string    `json:"processes,omitempty"`
	PID       int       `json:"pid"`
	Ticks     uint64    `json:"ticks,omitempty"` // start of the process in ticks since boot; no later process with this PID has the same start
	Start     time.Time `json:"start"`
	Run       string    `json:"run,omitempty"`
	ID        string    `json:"id,omitempty"`
}

func thisProcess(run string) holder {
	h := holder{PID: os.Getpid(), Start: time.Now().UTC().Truncate(time.Second), Run: run}
	h.Host, _ = os.Hostname()
	h.Boot, h.Processes = machineKey()
	h.Ticks, _ = startTicks(h.PID)
	return h
}

// machineKey identifies this process's kernel and PID namespace, in which a PID is unique.
func machineKey() (boot, processes string) {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	processes, _ = os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(id)), processes
}

// startTicks returns the start time of a process, in ticks since boot. Tests replace this function.
var startTicks = func(pid int) (uint64, error) {
	stat, err := proc.Read(pid)
	return stat.Starttime, err
}

type state int

const (
	unseen state = iota // the process was not found; only its heartbeat can show whether it lives
	living
	ended
)

// state looks for the holder's process on this machine, by PID and start time. Only Linux shows start times (/proc).
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

func (h holder) String() string {
	text, _ := json.Marshal(h)
	return string(text)
}

func (h holder) who() string {
	return fmt.Sprintf("process %d on %s", h.PID, safetext.Head(h.Host, 64))
}

func readHolder(text string) (h holder, err error) {
	err = json.Unmarshal([]byte(text), &h)
	return h, err
}
