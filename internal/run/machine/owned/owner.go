// Package owned marks everything that this process makes on the machine for a while with the process's
// own name: programs, cgroups, temporary directories and files. The name identifies the leftovers of a
// killed process. Only things with such a name are removed. All removal of trees in Tare happens here.
package owned

import (
	"fmt"
	"regexp"
)

// Owner identifies a process uniquely until the next boot. Process ids are reused, and differ between
// process id namespaces.
type Owner struct {
	pid       int
	start     uint64 // start time in ticks since boot; 0 if the system has none
	namespace uint64 // inode of the process id namespace; 0 if the system has none
}

func (o Owner) String() string { return fmt.Sprintf("%d-%d-%d", o.pid, o.start, o.namespace) }

// Parse parses the result of String.
func Parse(text string) (o Owner, err error) {
	_, err = fmt.Sscanf(text, "%d-%d-%d", &o.pid, &o.start, &o.namespace)
	if err != nil || o.pid <= 0 || o.String() != text {
		return Owner{}, fmt.Errorf("%q does not name a process as PID-START-NAMESPACE", text)
	}
	return o, nil
}

// PID is the process id.
func (o Owner) PID() int { return o.pid }

// Orphaned reports whether the owner is known to be dead, seen from the process self. Process ids of
// another namespace have no meaning here. An owner from another namespace counts as alive, unless self
// sees all namespaces and finds no process in the owner's.
func (o Owner) Orphaned(self Owner) bool {
	if o.namespace != self.namespace {
		return self.namespace == initial && isEmpty(o.namespace)
	}
	return !o.alive()
}

// Name returns the beginning of a name that identifies the owner: tare-KIND-OWNER-. The kind says what is
// named: a kind of files, directories or cgroups.
func (o Owner) Name(kind string) string { return "tare-" + kind + "-" + o.String() + "-" }

var named = regexp.MustCompile(`^tare-([a-z]+)-([0-9]+-[0-9]+-[0-9]+)-.+$`)

// Of parses a name made with Name. It returns the owner and the kind.
func Of(name string) (o Owner, kind string, ok bool) {
	m := named.FindStringSubmatch(name)
	if m == nil {
		return o, "", false
	}
	o, err := Parse(m[2])
	return o, m[1], err == nil
}
