package machine

import (
	"fmt"
	"maps"
	"slices"
)

// Differences says in what e, where a run began, and o, where it goes on,
// differ, one sentence fragment for each: "kernel is 6.8.0, was 6.6.1". What
// changes on every machine all the time (time, load, notes) does not count.
func (e *Environment) Differences(o *Environment) []string {
	var d []string
	compare := func(what string, was, is any) {
		if was != is {
			d = append(d, fmt.Sprintf("%s is %s, was %s", what, shown(is), shown(was)))
		}
	}
	compare("Tare", e.TareVersion, o.TareVersion)
	compare("Go", e.Go, o.Go)
	compare("kernel", e.Kernel, o.Kernel)
	compare("kernel build", e.KernelBuild, o.KernelBuild)
	compare("operating system", e.OS, o.OS)
	compare("architecture", e.Architecture, o.Architecture)
	compare("processor", e.CPU.Model, o.CPU.Model)
	compare("number of processors online", e.CPU.Online, o.CPU.Online)
	compare("number of usable processors", e.CPU.Usable, o.CPU.Usable)
	compare("frequency governor", e.CPU.Governor, o.CPU.Governor)
	compare("turbo", e.CPU.Turbo, o.CPU.Turbo)
	compare("SMT", e.CPU.SMT, o.CPU.SMT)
	compare("microcode", e.CPU.Microcode, o.CPU.Microcode)
	compare("memory", e.Memory, o.Memory)
	compare("cgroup version", e.Cgroup.Version, o.Cgroup.Version)
	compare("cgroup CPU quota", e.Cgroup.CPUs, o.Cgroup.CPUs)
	compare("cgroup memory limit", e.Cgroup.Memory, o.Cgroup.Memory)
	compare("clock source", e.ClockSource, o.ClockSource)
	compare("hypervisor", e.Hypervisor, o.Hypervisor)
	compare("instance type", e.Instance, o.Instance)
	compare("confidential computing", e.Confidential, o.Confidential)
	compare("root", e.Root, o.Root)
	compare("user namespace", e.UserNS, o.UserNS)
	if !slices.Equal(e.CPU.Flags, o.CPU.Flags) {
		d = append(d, "processor flags changed")
	}
	d = append(d, changedKeys("mitigation of ", e.Mitigations, o.Mitigations)...)
	d = append(d, changedKeys("cipher driver of ", e.CipherDriver, o.CipherDriver)...)
	return append(d, changedKeys("tool ", versions(e.Tools), versions(o.Tools))...)
}

// changedKeys compares two maps key by key, in order.
func changedKeys(what string, was, is map[string]string) []string {
	keys := maps.Clone(was)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, is)
	var d []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if was[k] != is[k] {
			d = append(d, fmt.Sprintf("%s%s is %s, was %s", what, k, shown(is[k]), shown(was[k])))
		}
	}
	return d
}

func versions(tools []Tool) map[string]string {
	m := make(map[string]string, len(tools))
	for _, t := range tools {
		m[t.Name] = t.Version
	}
	return m
}

// shown prints a value, with a word for an empty one.
func shown(v any) string {
	if s := fmt.Sprint(v); s != "" {
		return s
	}
	return "unknown"
}
