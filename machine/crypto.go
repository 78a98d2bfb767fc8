package machine

import (
	"slices"
	"strconv"
	"strings"
)

// parseCrypto reads /proc/crypto and gives, for each algorithm, the driver that
// the kernel takes when asked for it: the one of highest priority. Drivers that
// only serve other drivers are left out.
func parseCrypto(text string) map[string]string {
	drivers := map[string]string{}
	priorities := map[string]int{}
	for _, block := range strings.Split(text, "\n\n") {
		f := fields(block)
		name, driver := f["name"], f["driver"]
		priority, err := strconv.Atoi(f["priority"])
		if name == "" || driver == "" || err != nil || f["internal"] == "yes" {
			continue
		}
		if best, known := priorities[name]; !known || priority > best {
			drivers[name], priorities[name] = driver, priority
		}
	}
	if len(drivers) == 0 {
		return nil
	}
	return drivers
}

// fields reads lines of the form "key : value".
func fields(block string) map[string]string {
	f := map[string]string{}
	for line := range strings.Lines(block) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			f[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return f
}

// hasAES says whether the processor has AES instructions. x86 and ARM call the
// flag alike; on other architectures it is taken for granted.
func hasAES(e *Environment) bool {
	known := slices.Contains(e.CPU.Flags, "fpu") || slices.Contains(e.CPU.Flags, "asimd")
	return !known || slices.Contains(e.CPU.Flags, "aes")
}

// softwareAES says whether a driver is one of the portable implementations. No
// driver at all, as for a mode that nothing has asked for yet, counts as such.
func softwareAES(driver string) bool {
	return driver == "" || strings.Contains(driver, "generic") || strings.Contains(driver, "fixed-time")
}
