package syscalls

import (
	"fmt"
	"os"

	"tare/testbed"
	"tare/testbed/orders"
)

// Helper becomes the probe.
var Helper = testbed.Helper{Name: name, Run: orders.Reading("the order", execute)}

// order is what a helper is told on its standard input.
type order struct {
	Mode      string `json:"mode"`
	Test      Test   `json:"test"`
	Amount    int    `json:"amount"` // milliseconds of each process, or operations
	Processes int    `json:"processes"`
	CPU       int    `json:"cpu"` // of the first of them, among those allowed; any number
	File      string `json:"file,omitempty"`
	Directory string `json:"directory"`
}

// The modes of the probe.
const (
	modeRun     = "run"     // processes that take times
	modeExactly = "exactly" // operations, without times
)

func (c *Config) order() order {
	return order{Test: c.Tests.One(), Processes: 1, File: c.File, Directory: c.Directory}
}

// try is the order to do one operation.
func (c *Config) try() order {
	o := c.order()
	o.Mode, o.Amount = modeExactly, 1
	return o
}

// arguments are those of the probe, whose file is open as a descriptor.
func (o order) arguments(self int) ([]string, error) {
	if o.File == "" {
		var err error
		if o.File, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("no file is given, and the path of this program is not known: %w", err)
		}
	}
	return []string{"probe", o.Mode, string(o.Test), fmt.Sprint(o.Amount), fmt.Sprint(o.Processes), fmt.Sprint(o.CPU), fmt.Sprint(self),
		o.File, o.Directory, "PATH=" + os.Getenv("PATH")}, nil
}
