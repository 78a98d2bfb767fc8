package machine

import (
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// cipherDrivers reads /proc/crypto and gives, for each algorithm, the driver that
// the kernel takes when asked for it: the one of highest priority. Drivers that
// only serve other drivers are left out.
func cipherDrivers(files procfs.FS) map[string]string {
	algorithms, _ := files.Crypto()
	var drivers map[string]string
	priorities := map[string]int64{}
	for _, a := range algorithms {
		if a.Name == "" || a.Driver == "" || a.Priority == nil || a.Internal == "yes" {
			continue
		}
		if best, known := priorities[a.Name]; known && *a.Priority <= best {
			continue
		}
		if drivers == nil {
			drivers = map[string]string{}
		}
		drivers[a.Name], priorities[a.Name] = a.Driver, *a.Priority
	}
	return drivers
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
