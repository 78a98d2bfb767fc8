package machine

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const cpuDir = "sys/devices/system/cpu"

func readCPU(sys fs.FS) CPU {
	c := parseCPUInfo(readText(sys, "proc/cpuinfo"))
	if n := countList(readText(sys, path.Join(cpuDir, "online"))); n > 0 {
		c.Online = n
	}
	c.Governor = governors(sys)
	c.Turbo = turbo(sys)
	c.SMT = readText(sys, path.Join(cpuDir, "smt/control"))
	return c
}

// parseCPUInfo reads /proc/cpuinfo of x86, ARM, POWER, s390 and RISC-V, which use different keys. Model,
// flags and microcode are from the first processor that has them.
func parseCPUInfo(text string) CPU {
	var c CPU
	first := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "processor" {
			c.Online++
		}
		if _, known := first[key]; !known {
			first[key] = value
		}
	}
	pick := func(keys ...string) string {
		for _, k := range keys {
			if first[k] != "" {
				return first[k]
			}
		}
		return ""
	}
	c.Model = pick("model name", "cpu", "cpu model", "uarch", "vendor_id")
	if c.Model == "" && first["CPU implementer"] != "" {
		c.Model = armModel(first["CPU implementer"], first["CPU part"])
	}
	c.Flags = strings.Fields(pick("flags", "Features", "features", "isa"))
	c.Microcode = first["microcode"]
	return c
}

// armModel returns the name of a processor from the numbers in /proc/cpuinfo of ARM. Processors not
// listed here, which are mainly those of cloud servers, are described by their numbers.
func armModel(implementer, part string) string {
	names := map[string]string{
		"0x41 0xd03": "ARM Cortex-A53",
		"0x41 0xd08": "ARM Cortex-A72",
		"0x41 0xd0b": "ARM Cortex-A76",
		"0x41 0xd0c": "ARM Neoverse-N1",
		"0x41 0xd40": "ARM Neoverse-V1",
		"0x41 0xd49": "ARM Neoverse-N2",
		"0x41 0xd4f": "ARM Neoverse-V2",
		"0xc0 0xac3": "Ampere-1",
	}
	if name, ok := names[implementer+" "+part]; ok {
		return name
	}
	return fmt.Sprintf("implementer %s part %s", implementer, part)
}

// countList counts the numbers in a list in the kernel's format: "0-3,8".
func countList(list string) int {
	count := 0
	for _, span := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(span, "-")
		a, err := strconv.Atoi(from)
		if err != nil || a < 0 {
			return 0
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(to); err != nil || b < a || b > 1<<20 {
				return 0
			}
		}
		count += b - a + 1
	}
	return count
}

// governors lists the frequency governors in force, which may differ by core.
func governors(sys fs.FS) string {
	files, err := fs.Glob(sys, path.Join(cpuDir, "cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil {
		return ""
	}
	var names []string
	for _, f := range files {
		if g := readText(sys, f); g != "" && !slices.Contains(names, g) {
			names = append(names, g)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// turbo is "on" if the clock may exceed its nominal rate, "off" if not, and "" if unknown.
func turbo(sys fs.FS) string {
	switch readText(sys, path.Join(cpuDir, "intel_pstate/no_turbo")) {
	case "0":
		return "on"
	case "1":
		return "off"
	}
	switch readText(sys, path.Join(cpuDir, "cpufreq/boost")) {
	case "1":
		return "on"
	case "0":
		return "off"
	}
	return ""
}

func mitigations(sys fs.FS) map[string]string {
	dir := path.Join(cpuDir, "vulnerabilities")
	entries, err := fs.ReadDir(sys, dir)
	if err != nil || len(entries) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, e := range entries {
		if text := readText(sys, path.Join(dir, e.Name())); text != "" {
			m[e.Name()] = text
		}
	}
	return m
}
