//go:build !linux

package machine

import (
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// thisMachine describes a machine that only controls trials on a cluster. Unknown fields stay empty.
func thisMachine() *Environment {
	e := &Environment{Schema: EnvironmentSchema, CPU: CPU{Usable: runtime.NumCPU()}}
	if h, err := host.Info(); err == nil {
		e.OS = strings.TrimSpace(h.Platform + " " + h.PlatformVersion)
		e.Kernel, e.Architecture = h.KernelVersion, h.KernelArch
	}
	if processors, err := cpu.Info(); err == nil && len(processors) > 0 {
		e.CPU.Model, e.CPU.Flags = processors[0].ModelName, processors[0].Flags
	}
	if n, err := cpu.Counts(true); err == nil {
		e.CPU.Online = n
	}
	if m, err := mem.VirtualMemory(); err == nil {
		e.Memory = int64(m.Total)
	}
	return e
}
