package syscalls

import (
	"fmt"
	"os"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// Helper is a process that replaces itself by the probe.
var Helper = testbed.Helper{Name: name, Run: helperrpc.Reading("the request", execute)}

// request is a request to the helper, on its standard input.
type request struct {
	Mode      string `json:"mode"`
	Test      Test   `json:"test"`
	Amount    int    `json:"amount"` // measured time of each process in milliseconds, or number of operations
	Processes int    `json:"processes"`
	CPU       int    `json:"cpu"` // index of the first process' CPU among the allowed CPUs, modulo their number
	File      string `json:"file,omitempty"`
	Directory string `json:"directory"`
}

// The modes of the probe.
const (
	modeRun     = "run"     // processes that measure times
	modeExactly = "exactly" // operations without times
)

func (c *Config) request() request {
	return request{Test: c.Tests.One(), Processes: 1, File: c.File, Directory: c.Directory}
}

// try returns the request for one operation.
func (c *Config) try() request {
	o := c.request()
	o.Mode, o.Amount = modeExactly, 1
	return o
}

// arguments returns the arguments of the probe. self is the descriptor of the probe's file.
func (o request) arguments(self int) ([]string, error) {
	if o.File == "" {
		var err error
		if o.File, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("no file is given, and the path of this program is not known: %w", err)
		}
	}
	return []string{"probe", o.Mode, string(o.Test), fmt.Sprint(o.Amount), fmt.Sprint(o.Processes), fmt.Sprint(o.CPU), fmt.Sprint(self),
		o.File, o.Directory, "PATH=" + os.Getenv("PATH")}, nil
}
