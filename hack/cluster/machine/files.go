package machine

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// shielded are the settings of the whole kernel that a kubelet wants to have,
// and sets if it can, with the values it wants. It is shown plain files with
// these values instead, and the host keeps its own.
var shielded = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// apply gives init's own mount namespace the machine's view of the files, and
// the machine its name and its settings.
func (s Setup) apply(dir string) error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	root, err := s.overlay(dir)
	if err != nil {
		return err
	}
	if err := pivot(root); err != nil {
		return err
	}
	for _, bind := range s.Binds {
		if err := os.MkdirAll(bind.To, 0o755); err != nil {
			return err
		}
		if err := mount(bind.From, bind.To, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	if err := shieldKernel(); err != nil {
		return err
	}
	// The kubelet passes mounts on to containers and back.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// overlay builds the machine's root directory: the host's files, with what the
// machine writes kept in memory and lost with it; its own /proc and /run; the
// host's /dev and /sys; and the shared directory as it is, because containers'
// own overlays cannot stand on an overlay.
func (s Setup) overlay(dir string) (root string, err error) {
	others, err := hostMounts(s.Shared)
	if err != nil {
		return "", err
	}
	memory := filepath.Join(dir, "root")
	root = filepath.Join(memory, "merged")
	if err := os.MkdirAll(memory, 0o755); err != nil {
		return "", err
	}
	if err := mount("tmpfs", memory, "tmpfs", 0, "mode=755"); err != nil {
		return "", err
	}
	upper, work := filepath.Join(memory, "upper"), filepath.Join(memory, "work")
	for _, d := range []string{root, upper, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return "", err
		}
	}
	if err := mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work); err != nil {
		return "", err
	}
	if err := mount("proc", root+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return "", err
	}
	if err := mount("tmpfs", root+"/run", "tmpfs", 0, "mode=755"); err != nil {
		return "", err
	}
	for _, path := range []string{"/dev", "/sys"} {
		if err := mount(path, root+path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return "", err
		}
	}
	for _, path := range append(others, s.Shared) {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue // a file system of someone else, which root may not enter
		}
		if err := os.MkdirAll(root+path, 0o755); err != nil {
			return "", err
		}
		if err := mount(path, root+path, "", unix.MS_BIND, ""); err != nil {
			return "", err
		}
	}
	return root, nil
}

// hostMounts lists, outermost first, the host's other file systems, such as a
// /usr or /home of its own, which an overlay of / does not show.
func hostMounts(except string) ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var points []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		point := unescape.Replace(fields[4])
		if point == "/" || below(point, except) || slices.ContainsFunc([]string{"/proc", "/sys", "/dev", "/run"},
			func(own string) bool { return below(point, own) }) {
			continue
		}
		points = append(points, point)
	}
	slices.Sort(points)
	return slices.Compact(points), nil
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// pivot makes root the root directory, and lets go of the old one.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root to %s: %w", root, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the old root: %w", err)
	}
	return os.Chdir("/")
}

func shieldKernel() error {
	for name, value := range shielded {
		setting := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(setting); err != nil {
			continue // this kernel does not have it
		}
		shield := filepath.Join("/run/sysctl", strings.ReplaceAll(name, "/", "."))
		if err := os.MkdirAll(filepath.Dir(shield), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(shield, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := mount(shield, setting, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// mount is mount(2) with an error that says what was tried.
func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s (type %q, options %q): %w", source, target, kind, options, err)
	}
	return nil
}
