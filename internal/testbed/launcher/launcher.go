// Package launcher restricts programs by a launcher: a process of 5 KB without a C library. The launcher applies
// restrictions that a process can set for itself, and then becomes the program by exec. This costs the program one more
// exec, some 0.1 ms. It adds nothing to the program's memory or to its later CPU time (docs/figures/front.md).
//
// A layer puts an argument before a command (Settings.Argument). Before the program's time begins, Prepare replaces the
// argument with the launcher's command line. The launcher gets itself, filters and rulesets as descriptors of open
// files. It works inside every wrapper that passes descriptors on.
//
// If the programs of one arm start through a launcher, those of all arms do (layer.WithEqualLaunchers). A launcher with
// empty Settings restricts nothing.
package launcher

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"tare/cmd/launcher"
)

const prefix = "tare-launcher:"

// Settings are the restrictions that a launcher applies. The zero value restricts nothing.
type Settings struct {
	NoNewPrivs bool `json:"noNewPrivs,omitempty"`
	// Seccomp is a filter of system calls. If this user may install filters only with no_new_privs, the launcher sets
	// it.
	Seccomp       *Seccomp  `json:"seccomp,omitempty"`
	Landlock      *Landlock `json:"landlock,omitempty"`      // rules for files; with such rules, the launcher also sets no_new_privs
	Drop          uint64    `json:"drop,omitempty"`          // bit set of capabilities that the program loses and cannot regain
	AppArmor      string    `json:"appArmor,omitempty"`      // name of the program's profile
	UserNamespace bool      `json:"userNamespace,omitempty"` // set if the program is root in its own user namespace
	Bundle        *Bundle   `json:"bundle,omitempty"`        // set if the program runs in a container
}

// Capabilities are the names of capabilities, by their bit number in linux/capability.h.
var Capabilities = []string{"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE",
	"SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME",
	"SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG",
	"WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"}

// CapabilityBits returns the bit set of named capabilities, or of ALL. It ignores the prefix CAP_ and unknown names.
func CapabilityBits(names ...string) (bits uint64) {
	for i, known := range Capabilities {
		if slices.ContainsFunc(names, func(n string) bool { return n == "ALL" || strings.TrimPrefix(n, "CAP_") == known }) {
			bits |= 1 << i
		}
	}
	return bits
}

// Seccomp denies system calls with the error EPERM. The filter compares a call with the names in the order of Calls.
type Seccomp struct {
	Calls []string `json:"calls"`
	// First limits the rules to calls whose first argument has this value; nil: the rules apply to every call.
	First *uint64 `json:"first,omitempty"`
}

// Landlock lets a program read, execute and write all files, but create and remove files only below Writable.
type Landlock struct {
	Writable []string `json:"writable,omitempty"`
	// Rules is the number of rules: one for the root directory, one for each directory of Writable, and the others for
	// /proc/sys and paths below it, which no program needs.
	Rules int `json:"rules"`
}

// Bundle makes the launcher run the program in a container, by a runtime of the Open Container Initiative. The
// runtime's files are in memory, on the empty directory Directory, and vanish with the container.
type Bundle struct {
	Directory string `json:"directory"`
	// Runtime is the runtime's command line. The launcher runs it, with the container's name as the last argument,
	// instead of the program's own command.
	Runtime []string `json:"runtime"`
}

// Argument returns the argument that a layer puts before a command.
func (s Settings) Argument() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("settings of the launcher: %v", err)) // marshalling plain values cannot fail
	}
	return prefix + string(text)
}

// Count returns the number of launchers in a command.
func Count(args []string) (n int) {
	for _, arg := range args {
		if strings.HasPrefix(arg, prefix) {
			n++
		}
	}
	return n
}

type prepared struct {
	Args  []string
	Files []*os.File // become descriptors 3 and up: first the files of the command, then those of the launchers
	own   []*os.File
}

// Close closes the files of launchers. Callers use it after the program has started.
func (p prepared) Close() {
	for _, f := range p.own {
		_ = f.Close()
	}
}

// Prepare replaces the arguments that stand for launchers. The other values are the command's own; its files get the
// descriptors from 3 on.
func Prepare(args, environment []string, directory string, files []*os.File) (_ prepared, err error) {
	p := prepared{Files: files[:len(files):len(files)]}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	for i, arg := range args {
		text, ok := strings.CutPrefix(arg, prefix)
		if !ok {
			p.Args = append(p.Args, arg)
			continue
		}
		var s Settings
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return p, fmt.Errorf("settings of the launcher: %w", err)
		}
		self, err := p.open(launcher.Program)
		if err != nil {
			return p, err
		}
		p.Args = append(p.Args, "/proc/self/fd/"+self, "-x", self)
		if err := p.set(s); err != nil {
			return p, err
		}
		if s.Bundle != nil {
			return p, p.contain(s.Bundle, args[i+1:], environment, directory)
		}
		p.Args = append(p.Args, "--")
	}
	return p, nil
}

// add adds a file to the command and returns the number of its descriptor as text.
func (p *prepared) add(f *os.File) string {
	p.Files, p.own = append(p.Files, f), append(p.own, f)
	return fmt.Sprint(2 + len(p.Files))
}

func (p *prepared) set(s Settings) error {
	option := func(name string, value any) { p.Args = append(p.Args, name, fmt.Sprint(value)) }
	if s.UserNamespace {
		option("-u", fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()))
	}
	if s.Drop != 0 {
		option("-c", s.Drop)
	}
	if s.AppArmor != "" {
		option("-a", s.AppArmor)
	}
	if s.NoNewPrivs {
		option("-n", 1)
	}
	if s.Landlock != nil {
		ruleset, err := s.Landlock.ruleset()
		if err != nil {
			return fmt.Errorf("a ruleset of Landlock: %w", err)
		}
		option("-l", p.add(ruleset))
	}
	if s.Seccomp != nil {
		text, err := s.Seccomp.filter()
		if err != nil {
			return fmt.Errorf("a filter of system calls: %w", err)
		}
		filter, err := p.open(text)
		if err != nil {
			return err
		}
		option("-s", filter)
	}
	return nil
}
