// Package inventory knows what Tare has made on a cluster, and removes it.
//
// Before a run makes anything it writes that down in the cluster itself, in one
// ConfigMap (Record), and everything it makes carries the run's label (Owner). So a
// run removes at its end exactly what is its own (Record.End); and where it was
// killed, tare clean (Left, Clean) or the session that resumes the run
// (Record.RemoveEarlier) finds and removes the rest.
//
// Whoever may write ConfigMaps can forge a record. traces.go says why that lets nobody
// delete what he could not delete himself.
package inventory

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/testbed/kube/cluster"
)

// Labels of everything that Tare makes.
const (
	ManagedBy  = "app.kubernetes.io/managed-by" // "tare"
	OwnerLabel = "tare/owner"                   // Owner
	ArmLabel   = "tare/arm"
	RoleLabel  = "tare/role" // "client", "server" (all members), "client-node", "server-node", "node" (accounting)
)

// Owner is the random name of one session of a run: of one process of Tare's that
// carries it out.
type Owner string

// NewOwner draws a name.
func NewOwner() Owner {
	var b [5]byte
	rand.Read(b[:]) // never fails
	return Owner(hex.EncodeToString(b[:]))
}

// Owns says whether an object was made by this session.
func (o Owner) Owns(object metav1.Object) bool { return object.GetLabels()[OwnerLabel] == string(o) }

// Labels are those of what is made for an arm, in a role; both may be "".
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

// valid says whether the name has the form of one: it becomes part of the names of
// objects.
func (o Owner) valid() bool {
	return o != "" && cluster.Label(string(o), cluster.NameLimit) == string(o)
}

// selector selects the session's objects.
func (o Owner) selector() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: OwnerLabel + "=" + string(o)}
}

// record is the name of the session's ConfigMap.
func (o Owner) record() string { return "tare-" + string(o) }

// idFile holds, in the run directory, a random name by which the sessions of a run
// recognise each other's records. A path or a host name would not do: in containers
// they change, and those of another run are the same.
const idFile = "cluster-id"

// Session is one process that carries out a run.
type Session struct {
	Owner Owner
	Run   string // run directory; "": none
	id    string // of the run
}

// NewSession begins a session of the run in a directory, which may be "".
func NewSession(run string) (Session, error) {
	s := Session{Owner: NewOwner(), Run: run}
	if run == "" {
		return s, nil
	}
	var err error
	s.id, err = runID(run)
	return s, err
}

// runID gives the id of the run in a directory, and draws it at first.
func runID(dir string) (string, error) {
	name := filepath.Join(dir, idFile)
	data, err := os.ReadFile(name)
	if id := strings.TrimSpace(string(data)); err == nil && len(id) == 32 && cluster.Label(id, cluster.NameLimit) == id {
		return id, nil
	}
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	var b [16]byte
	rand.Read(b[:]) // never fails
	id := hex.EncodeToString(b[:])
	return id, os.WriteFile(name, []byte(id+"\n"), 0o644)
}
