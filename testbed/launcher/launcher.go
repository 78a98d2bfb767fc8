// Package launcher puts restrictions on a program by a launcher: a process of 5 KB without a C library that sets
// what the kernel lets a process set for itself, and becomes the program. It costs the program one more exec, some
// 0.1 ms, and stays neither in its memory nor in its CPU time (docs/figures/front.md).
//
// A layer stands a Settings argument in front of a command (Settings.Argument). Whoever starts the command, Tare
// on its machine or the agent in a pod, has Prepare make of it what the kernel needs: the launcher, filters and rulesets are
// opened there, before the program's time begins, and are handed in as descriptors. So a launcher works behind any
// other program in front that passes descriptors on.
//
// Where a launcher starts the programs of one arm, launchers start the programs of all arms of the run
// (layer.DressAlike). A launcher with nothing to set has empty Settings.
package launcher

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// prefix begins an argument that stands for a launcher.
const prefix = "tare-launcher:"

// Settings are what a launcher sets. The zero value sets nothing.
type Settings struct {
	NoNewPrivs bool `json:"noNewPrivs,omitempty"`
	// Seccomp is a filter of system calls. Where this user may install one only with no_new_privs, that is set too.
	Seccomp *Seccomp `json:"seccomp,omitempty"`
	// Landlock is a ruleset; no_new_privs is set with it.
	Landlock *Landlock `json:"landlock,omitempty"`
	// Drop are capabilities that are dropped for good, by bits.
	Drop uint64 `json:"drop,omitempty"`
	// AppArmor is the profile that the program will be in.
	AppArmor string `json:"appArmor,omitempty"`
	// UserNamespace makes the program root in a user namespace of its own.
	UserNamespace bool `json:"userNamespace,omitempty"`
	// Bundle has the program run in a container.
	Bundle *Bundle `json:"bundle,omitempty"`
}

// Capabilities are their names, by their bits: linux/capability.h.
var Capabilities = []string{"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE",
	"SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME",
	"SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG",
	"WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"}

// CapabilityBits are the bits of capabilities by their names, with CAP_ or without; ALL is every one. A name that is none
// has no bit.
func CapabilityBits(names ...string) (bits uint64) {
	for i, known := range Capabilities {
		if slices.ContainsFunc(names, func(n string) bool { return n == "ALL" || strings.TrimPrefix(n, "CAP_") == known }) {
			bits |= 1 << i
		}
	}
	return bits
}

// Seccomp denies system calls with EPERM, one rule each, in their order.
type Seccomp struct {
	Calls []string `json:"calls"` // by name
	// First is the first argument with which the calls are denied; nil: with any.
	First *uint64 `json:"first,omitempty"`
}

// Landlock allows a program to read, start and write to files everywhere, and to make and remove files in
// directories alone.
type Landlock struct {
	Writable []string `json:"writable,omitempty"`
	// Rules is the number of rules: that of the root, those of the directories, and more for files below /proc/sys that
	// programs do not open.
	Rules int `json:"rules"`
}

// Bundle is a container for the program, as the Open Container Initiative's runtimes take it: with the program's
// environment, user and directory, and the file system of its machine. The bundle is in memory on the directory, which
// is empty, in a mount namespace that ends with the processes in it, so that nothing is left however they end.
type Bundle struct {
	Directory string `json:"directory"`
	// Runtime is the program that is started in place of the command, with its arguments but for the last: the
	// container's name.
	Runtime []string `json:"runtime"`
}

// Argument stands in front of a program and its arguments.
func (s Settings) Argument() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("settings of the launcher: %v", err)) // they are plain values
	}
	return prefix + string(text)
}

// Count is how many launchers stand in a command.
func Count(args []string) (n int) {
	for _, arg := range args {
		if strings.HasPrefix(arg, prefix) {
			n++
		}
	}
	return n
}

// Prepared is a command as it can be started.
type Prepared struct {
	Args  []string
	Files []*os.File // descriptors 3 and on: those of the command, and those of launchers
	own   []*os.File
}

// Close closes what was opened for launchers. The program has it once it is started.
func (p Prepared) Close() {
	for _, f := range p.own {
		_ = f.Close()
	}
}

// Prepare makes launchers of the arguments that stand for them. The environment and the directory are those that the
// command will have.
func Prepare(args, environment []string, directory string, files []*os.File) (_ Prepared, err error) {
	p := Prepared{Files: files[:len(files):len(files)]}
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
		self, err := p.open(program)
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

// add has a file handed in, and gives the number that its descriptor will have.
func (p *Prepared) add(f *os.File) string {
	p.Files, p.own = append(p.Files, f), append(p.own, f)
	return fmt.Sprint(2 + len(p.Files))
}

// set appends the options of the launcher.
func (p *Prepared) set(s Settings) error {
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
