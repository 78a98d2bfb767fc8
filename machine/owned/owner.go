// Package owned names what this process makes on the machine for a while by this process: its
// programs, their cgroups, temporary directories and files. What a killed one has left is known by
// that name, and nothing else is ever removed. No tree is removed elsewhere.
package owned

import (
	"fmt"
	"regexp"
)

// Owner names a process for all time until the next boot: process ids are reused, and mean something
// else in another process id namespace.
type Owner struct {
	pid   int
	start uint64 // start time in ticks since boot; 0 where the system has none
	space uint64 // inode of the process id namespace; 0 where the system has none
}

func (o Owner) String() string { return fmt.Sprintf("%d-%d-%d", o.pid, o.start, o.space) }

// Parse reads what String writes.
func Parse(text string) (o Owner, err error) {
	_, err = fmt.Sscanf(text, "%d-%d-%d", &o.pid, &o.start, &o.space)
	if err != nil || o.pid <= 0 || o.String() != text {
		return Owner{}, fmt.Errorf("%q does not name a process as PID-START-NAMESPACE", text)
	}
	return o, nil
}

// PID is the process id.
func (o Owner) PID() int { return o.pid }

// Orphaned says whether the owner is dead, as far as this process, self, can know. Process ids of another
// namespace mean nothing here: such an owner lives, unless this process sees those of all namespaces, and there is none left
// of that one.
func (o Owner) Orphaned(self Owner) bool {
	if o.space != self.space {
		return self.space == initial && ended(o.space)
	}
	return !o.alive()
}

// Name begins the name of a thing of an owner: tare-WHAT-OWNER-.
func (o Owner) Name(what string) string { return "tare-" + what + "-" + o.String() + "-" }

var named = regexp.MustCompile(`^tare-([a-z]+)-([0-9]+-[0-9]+-[0-9]+)-.+$`)

// Of gives the owner of a thing and says what it is, by its name.
func Of(name string) (o Owner, what string, ok bool) {
	m := named.FindStringSubmatch(name)
	if m == nil {
		return o, "", false
	}
	o, err := Parse(m[2])
	return o, m[1], err == nil
}
