// Package plan is what the machine of the tests and its first process say to each other: a Plan, which is
// in the guest's files, and Events, one line of JSON each on the guest's second serial line.
package plan

import "time"

// Paths in the guest.
const (
	File    = "/plan.json"
	Modules = "/modules" // of the kernel, by their names
	Source  = "/tare"    // stands for the root of Tare's sources: tests run in their package's directory
)

// Plan is what the first process does.
type Plan struct {
	Modules []string // files of modules of the kernel, in the order in which they are loaded
	Disk    string   // device with an ext4 that becomes /tmp
	Suites  []Suite
}

// Suite is the tests of one package.
type Suite struct {
	Package string // below the root of the sources: "internal/layer/luks"
	Program string // compiled tests
	Args    []string
	Limit   time.Duration // after which it is killed
}

// Event is something that has happened in the guest. One of its fields says what, beside Suite.
type Event struct {
	Kernel  string `json:"kernel,omitempty"`  // the guest is up, with this release
	Trouble string `json:"trouble,omitempty"` // of the guest itself
	Suite   string `json:"suite,omitempty"`   // the package
	Line    string `json:"line,omitempty"`    // that the tests have printed
	Ended   *Ended `json:"ended,omitempty"`   // the tests of the package have
	Done    bool   `json:"done,omitempty"`    // all is; the guest goes off
}

// Ended is how the tests of a package have.
type Ended struct {
	Status int    `json:"status"`        // exit status
	How    string `json:"how,omitempty"` // in words, if that is not 0
}
