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

	"tare/layer"
	"tare/layer/front"
	"tare/testbed"
	"tare/testbed/local"
)

const (
	parser  = "apparmor_parser"
	install = "apt-get install apparmor"
	prefix  = "tare-apparmor-"  // of the names of profiles
	probing = prefix + "probe-" // of those that are tried; the process that does follows
)

// Files of the kernel.
const (
	kernel   = "/sys/kernel/security/apparmor/"
	loading  = kernel + ".load"
	removing = kernel + ".remove"
	loaded   = kernel + "profiles"
)

// profile is one of AppArmor.
type profile struct{ name, text string }

// everything is what the profile allows: without these rules a kind of action is denied. What kinds
// there are depends on the kernel; apparmor_parser leaves out what that does not have.
var everything = []string{"file", "capability", "network", "mount", "remount", "umount", "pivot_root", "ptrace", "signal", "unix", "dbus", "change_profile"}

// text is the source of the profile. It names no ABI, and includes no file.
func (c *Config) text(called string) string {
	var b strings.Builder
	// Paths in the mount namespaces of a volume may lead to no root that is seen here.
	fmt.Fprintf(&b, "profile %s flags=(attach_disconnected,mediate_deleted) {\n", called)
	for _, rule := range everything {
		fmt.Fprintf(&b, "  %s,\n", rule)
	}
	fmt.Fprintf(&b, "  deny /{,**/}%s* w,\n", front.ProbeFile)
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

// compileLimit is how long the compiler may take, which is within a second.
const compileLimit = time.Minute

// compile gives the profile as the kernel reads it, for the kernel of this machine unless
// the arguments say otherwise. What was compiled before is not looked for.
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

// load compiles the profile and gives it to the kernel.
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

// remove takes a profile from the kernel. That it is not there is no error.
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

// removeProbes removes profiles of processes that were killed while they tried them: they are in no ledger.
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

// has says whether the kernel has a profile.
func has(called string) (bool, error) {
	text, err := os.ReadFile(loaded)
	return strings.Contains("\n"+string(text), "\n"+called+" ("), err
}

// enabled says why no profile can be loaded here; nil: nothing speaks against it.
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

// write writes to a file of the kernel, in one call.
func write(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
