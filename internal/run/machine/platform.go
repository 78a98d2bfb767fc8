package machine

import (
	"cmp"
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

// parseCPUInfo reads /proc/cpuinfo of x86, ARM, POWER, s390 and RISC-V. Each value is from the first processor that has
// the key.
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
	c.Model = cmp.Or(first["model name"], first["cpu"], first["cpu model"], first["uarch"], first["vendor_id"])
	if c.Model == "" && first["CPU implementer"] != "" {
		c.Model = armModel(first["CPU implementer"], first["CPU part"])
	}
	c.Flags = strings.Fields(cmp.Or(first["flags"], first["Features"], first["features"], first["isa"]))
	c.Microcode = first["microcode"]
	return c
}

// armModel names an ARM processor by its numbers in /proc/cpuinfo. It knows mainly processors of cloud servers; for
// other processors, it returns the numbers.
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
	files, _ := fs.Glob(sys, path.Join(cpuDir, "cpu[0-9]*/cpufreq/scaling_governor"))
	names := []string{""} // "" for unknown governors, cut off below
	for _, f := range files {
		names = append(names, readText(sys, f))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names)[1:], ", ")
}

// turbo is "on" if the clock may exceed its nominal rate, "off" if not, and "" if unknown.
func turbo(sys fs.FS) string {
	state := map[string]string{"1": "on", "0": "off"}[readText(sys, path.Join(cpuDir, "cpufreq/boost"))]
	return cmp.Or(map[string]string{"0": "on", "1": "off"}[readText(sys, path.Join(cpuDir, "intel_pstate/no_turbo"))], state)
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

// dmi reads one entry of the firmware's description of the machine. Entries that identify one machine, such as serial
// numbers, must not be read.
func dmi(sys fs.FS, entry string) string {
	return readText(sys, path.Join("sys/class/dmi/id", entry))
}

// azureTag is the chassis asset tag of every machine on Azure.
const azureTag = "7783-7084-3265-9085-8269-3286-77"

// instance returns the cloud's instance type, or the name of the cloud if the firmware does not contain the type.
func instance(sys fs.FS) string {
	vendor, product := dmi(sys, "sys_vendor"), dmi(sys, "product_name")
	switch {
	case vendor == "Amazon EC2":
		return product // "m6i.large"
	case vendor == "Microsoft Corporation" && dmi(sys, "chassis_asset_tag") == azureTag:
		return "Azure virtual machine"
	case dmi(sys, "chassis_asset_tag") == "OracleCloud.com":
		return "Oracle Cloud"
	case vendor == "Google" && product == "Google Compute Engine",
		vendor == "Hetzner", vendor == "DigitalOcean", vendor == "Scaleway",
		vendor == "Alibaba Cloud", vendor == "OpenStack Foundation":
		return strings.TrimSpace(vendor + " " + strings.TrimPrefix(product, vendor+" "))
	}
	return ""
}

// hypervisor names the hypervisor below the machine; "": bare metal. On x86, a CPU flag shows one. Firmware, clock or
// /sys/hypervisor name it.
func hypervisor(sys fs.FS, flags []string) string {
	if t := readText(sys, "sys/hypervisor/type"); t != "" {
		return strings.ToUpper(t[:1]) + t[1:] // "xen"
	}
	if strings.Contains(strings.ToLower(readText(sys, "proc/sys/kernel/osrelease")), "microsoft") {
		return "Hyper-V (WSL)"
	}
	vendor, product := dmi(sys, "sys_vendor"), dmi(sys, "product_name")
	metal := vendor == "Amazon EC2" && strings.Contains(product, ".metal")
	byFirmware := []struct{ text, name string }{
		{"QEMU", "KVM"}, {"KVM", "KVM"}, {"Google", "KVM"}, {"Amazon EC2", "KVM (Nitro)"}, {"OpenStack", "KVM"},
		{"DigitalOcean", "KVM"}, {"Hetzner", "KVM"}, {"Alibaba Cloud", "KVM"}, {"VMware", "VMware"},
		{"innotek", "VirtualBox"}, {"VirtualBox", "VirtualBox"}, {"Parallels", "Parallels"},
		{"Microsoft Corporation Virtual Machine", "Hyper-V"}, {"Apple Virtualization", "Apple Virtualization"},
	}
	x86 := slices.Contains(flags, "fpu")
	if metal || (x86 && !slices.Contains(flags, "hypervisor")) {
		return ""
	}
	for _, f := range byFirmware {
		if strings.Contains(vendor+" "+product, f.text) {
			return f.name
		}
	}
	switch clocks := readText(sys, "sys/devices/system/clocksource/clocksource0/available_clocksource"); {
	case strings.Contains(clocks, "kvm-clock"):
		return "KVM"
	case strings.Contains(clocks, "hyperv_clocksource"):
		return "Hyper-V"
	}
	if x86 {
		return "unknown hypervisor"
	}
	return ""
}

// confidential names the technology that hides the machine's memory from its host; "": none. It looks for features that
// only a guest has.
func confidential(sys fs.FS, flags []string) string {
	has := func(flag string) bool { return slices.Contains(flags, flag) }
	// A hypervisor shows the SEV flags only to guests that use SEV.
	guest := has("hypervisor")
	switch {
	case exists(sys, "dev/sev-guest"),
		exists(sys, "sys/devices/platform/sev-guest"),
		exists(sys, "sys/devices/system/cpu/sev/vmpl"),
		guest && has("sev_snp"):
		return "SEV-SNP"
	case guest && has("sev_es"):
		return "SEV-ES"
	case guest && has("sev"):
		return "SEV"
	case has("tdx_guest"), exists(sys, "dev/tdx_guest"), exists(sys, "dev/tdx-guest"):
		return "TDX"
	case exists(sys, "sys/devices/platform/arm-cca-dev"):
		return "CCA"
	case readText(sys, "sys/firmware/uv/prot_virt_guest") == "1":
		return "Secure Execution"
	}
	return ""
}

// container names the kind of container that this process is in, "" for none.
func container(sys fs.FS) string {
	if name := readText(sys, "run/systemd/container"); name != "" {
		return name
	}
	groups := readText(sys, "proc/self/cgroup")
	switch {
	case strings.Contains(groups, "kubepods"), exists(sys, "run/secrets/kubernetes.io"):
		return "kubernetes"
	case exists(sys, ".dockerenv"), strings.Contains(groups, "/docker/"):
		return "docker"
	case exists(sys, "run/.containerenv"):
		return "podman"
	case strings.Contains(groups, "/lxc"):
		return "lxc"
	}
	return ""
}
