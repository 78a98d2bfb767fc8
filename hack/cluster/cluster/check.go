package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tare/hack/cluster/cgroup"
)

// programs that are taken from the machine, and the Debian packages they are in.
var programs = []struct{ name, pkg string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{"nsenter", "util-linux"},
	{"ldd", "libc-bin"},
	{"busybox", "busybox-static"},
	{"iperf3", "iperf3"},
	{"fio", "fio"},
}

// cniDirs are where distributions put the CNI plugins.
var cniDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// Check says why this machine cannot run a cluster: every reason, not the first.
func Check() error {
	var reasons []error
	if os.Geteuid() != 0 {
		reasons = append(reasons, errors.New("not root: namespaces, mounts and cgroups of nodes need it"))
	}
	var packages []string
	for _, p := range programs {
		if _, err := exec.LookPath(p.name); err != nil {
			reasons = append(reasons, fmt.Errorf("%s is not installed", p.name))
			packages = append(packages, p.pkg)
		}
	}
	if cniDir() == "" {
		reasons = append(reasons, fmt.Errorf("the CNI plugins are not installed (none in %s)", strings.Join(cniDirs, ", ")))
		packages = append(packages, "containernetworking-plugins")
	}
	if len(packages) > 0 {
		slices.Sort(packages)
		reasons = append(reasons, fmt.Errorf("install them on Debian with hack/cluster/install, which installs %s",
			strings.Join(slices.Compact(packages), " ")))
	}
	if err := cgroup.Check(); err != nil {
		reasons = append(reasons, err)
	}
	filesystems, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		reasons = append(reasons, err)
	} else if !strings.Contains(string(filesystems), "\toverlay\n") {
		reasons = append(reasons, errors.New("the kernel has no overlay file system (try modprobe overlay)"))
	}
	return errors.Join(reasons...)
}

func cniDir() string {
	for _, dir := range cniDirs {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir
		}
	}
	return ""
}
