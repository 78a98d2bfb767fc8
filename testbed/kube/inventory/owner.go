// Package inventory knows what Tare has made on a cluster, and removes it.
//
// Before a run makes anything it writes that down in the cluster itself, in one
// ConfigMap (Record), and everything it makes carries the run's label (Owner). So a
// run removes at its end exactly what is its own (Record.RemoveAll); and where it was
// killed, tare clean (Left, Clean) or the session that resumes the run
// (Record.RemoveEarlier) finds and removes the rest.
//
// Whoever may write ConfigMaps can forge a record. left.go says why that lets nobody
// delete what he could not delete himself.
package inventory

import (
	"crypto/rand"
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/testbed/kube/cluster"
)

// Labels of everything that Tare makes.
const (
	ManagedBy  = "app.kubernetes.io/managed-by" // "tare"
	OwnerLabel = "tare/owner"                   // Owner
	ArmLabel   = "tare/arm"
	RoleLabel  = "tare/role" // "client", "server", "client-node", "server-node", "node" (accounting)
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

// valid says whether the name is one that NewOwner could have drawn, as far as its
// form goes: it becomes part of the names of objects.
func (o Owner) valid() bool {
	return o != "" && cluster.Label(string(o), cluster.NameLimit) == string(o)
}

// selector selects the session's objects.
func (o Owner) selector() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: OwnerLabel + "=" + string(o)}
}

// record is the name of the session's ConfigMap.
func (o Owner) record() string { return "tare-" + string(o) }
