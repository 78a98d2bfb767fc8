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

const (
	kernel   = "/sys/kernel/security/apparmor/"
	loading  = kernel + ".load"
	removing = kernel + ".remove"
	loaded   = kernel + "profiles"
)

type profile struct{ name, text string }

// everything lists rules that allow all kinds of actions: AppArmor denies every other kind. apparmor_parser
// leaves out kinds that the kernel does not know.
var everything = []string{"file", "capability", "network", "mount", "remount", "umount", "pivot_root", "ptrace", "signal", "unix", "dbus", "change_profile"}

// text returns the source of a profile. It names no ABI, and includes no file.
func (c *Config) text(called string) string {
	var b strings.Builder
	// A volume has its own mount namespace: paths there may not lead up to its root (disconnected).
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

// compile returns the profile in the binary format of this machine's kernel, or of the kernel in the
// arguments, without the compiler's cache.
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

// remove unloads a profile, if the kernel has it.
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

// removeProbes removes the profiles of killed probes, which no ledger notes.
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

func has(called string) (bool, error) {
	text, err := os.ReadFile(loaded)
	return strings.Contains("\n"+string(text), "\n"+called+" ("), err
}

// enabled returns why no profile can be loaded on this machine; nil if nothing prevents this.
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

// write writes to a file of AppArmor in one system call.
func write(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
