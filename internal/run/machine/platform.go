package machine

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// dmi reads one entry of the firmware's description of the machine. Only entries that are equal on all
// machines of a kind are ever read.
func dmi(sys fs.FS, entry string) string {
	return readText(sys, path.Join("sys/class/dmi/id", entry))
}

// azureTag is the chassis asset tag of every machine on Azure.
const azureTag = "7783-7084-3265-9085-8269-3286-77"

// instance returns the cloud's instance type, or the name of the cloud if the firmware does not contain
// the type.
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

// hypervisor names the hypervisor below the machine, "" for bare metal. On x86, the flag "hypervisor"
// shows that there is one. The firmware, the clock or /sys/hypervisor show which one.
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

// confidential names the technology that keeps the machine secret from its host, "" for none. It tests
// features that only a guest has. A host that can run confidential machines is not one itself.
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
