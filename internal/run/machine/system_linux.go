package machine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func thisMachine() *Environment {
	e := describe("/")
	var affinity unix.CPUSet
	if unix.SchedGetaffinity(0, &affinity) == nil {
		e.CPU.Usable = affinity.Count()
	}
	if e.CPU.Usable > 0 && e.CPU.Usable < e.CPU.Online {
		e.Notes = append(e.Notes, fmt.Sprintf("Tare may use %d of %d processors", e.CPU.Usable, e.CPU.Online))
	}
	return e
}
