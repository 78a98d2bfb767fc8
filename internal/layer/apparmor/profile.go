package apparmor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

const (
	parser  = "apparmor_parser"
	install = "apt-get install apparmor"
	prefix  = "tare-apparmor-"  // start of the names of profiles
	probing = prefix + "probe-" // start of the names of probes' profiles; the probing process's id follows
)

// These are files of the kernel.
const (
	kernel   = "/sys/kernel/security/apparmor/"
	loading  = kernel + ".load"
	removing = kernel + ".remove"
	loaded   = kernel + "profiles"
)

// profile is an AppArmor profile: its name and source.
type profile struct{ name, text string }

// everything lists the rules that allow all actions. AppArmor denies every kind of action that no rule
// allows. Which kinds exist depends on the kernel; apparmor_parser leaves out kinds that the kernel does not
// know.
var everything = []string{"file", "capability", "network", "mount", "remount", "umount", "pivot_root", "ptrace", "signal", "unix", "dbus", "change_profile"}

// text returns the source of a profile with the given name. The source names no version of the rules' language
// (ABI), and includes no file.
func (c *Config) text(called string) string {
	var b strings.Builder
	// A volume has its own mount namespace. Paths there may not lead up to the root of this namespace
	// (disconnected).
	fmt.Fprintf(&b, "profile %s flags=(attach_disconnected,mediate_deleted) {\n", called)
	for _, rule := range everything {
		fmt.Fprintf(&b, "  %s,\n", rule)
	}
	fmt.Fprintf(&b, "  deny /{,**/}%s* w,\n", wrapper.ProbeFile)
	for i := 2; i <= c.Rules.One(); i++ {
		path := fmt.Sprintf("/usr/lib/tare-unused-%02d/**", i)
		if c.Match.One() == layer.Suffix {
			path = fmt.Sprintf("/**/tare-unused-%02d", i)
		}
		switch c.Action.One() {
		case layer.Deny:
			fmt.Fprintf(&b, "  deny %s rwklmx,\n", path)
		case layer.Audit:
			fmt.Fprintf(&b, "  audit %s rwkl,\n", path)
		case layer.Allow:
			fmt.Fprintf(&b, "  %s rwkl,\n", path)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

const compileLimit = time.Minute // the timeout for the compiler, which normally takes less than a second

// compile returns the profile in the kernel's binary format. The format is for this machine's kernel, unless
// the arguments name another kernel. The compiler's cache is not used.
func (p profile) compile(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	var out bytes.Buffer
	_, err := testbed.Run(ctx, local.Here, testbed.Host, testbed.Command{
		Args: append([]string{parser, "--skip-kernel-load", "--skip-cache", "--stdout"}, args...), Stdin: strings.NewReader(p.text), Stdout: &out,
	})
	if err == nil && out.Len() == 0 {
		err = fmt.Errorf("%s printed nothing", parser)
	}
	return out.Bytes(), err
}

// load compiles the profile and loads it into the kernel.
func (p profile) load(ctx context.Context) error {
	binary, err := p.compile(ctx)
	if err != nil {
		return err
	}
	if err := write(loading, binary); err != nil {
		return fmt.Errorf("load a profile: %w", err)
	}
	if there, err := has(p.name); err != nil || !there {
		return errors.Join(fmt.Errorf("the profile %s is not among those of %s", p.name, loaded), err)
	}
	return nil
}

// remove unloads a profile from the kernel. It is not an error if the kernel does not have it.
func remove(called string) error {
	if there, err := has(called); err != nil || !there {
		return err
	}
	if err := write(removing, []byte(called)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the profile %s: %w", called, err)
	}
	if there, err := has(called); err != nil || there {
		return errors.Join(fmt.Errorf("the profile %s is still there", called), err)
	}
	return nil
}

// removeProbes removes the profiles that killed probes have left. A probe belongs to no run, and so has no
// ledger that notes its profile.
func removeProbes() error {
	text, err := os.ReadFile(loaded)
	for line := range strings.Lines(string(text)) {
		called, _, _ := strings.Cut(line, " (")
		pid, ours := strings.CutPrefix(called, probing)
		if _, gone := os.Stat("/proc/" + pid); ours && errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, remove(called))
		}
	}
	return err
}

// has reports whether the kernel has a profile.
func has(called string) (bool, error) {
	text, err := os.ReadFile(loaded)
	return strings.Contains("\n"+string(text), "\n"+called+" ("), err
}

// enabled returns the reason why no profile can be loaded on this machine; nil if nothing prevents loading.
func enabled() error {
	f, err := os.OpenFile(loading, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this kernel has no AppArmor, or it is turned off: %w", err)
	}
	if err != nil {
		return fmt.Errorf("profiles of AppArmor cannot be loaded: %w", err)
	}
	return f.Close()
}

// write writes to a file of the kernel's AppArmor interface in one system call.
func write(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
