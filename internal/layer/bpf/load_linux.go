package bpf

import (
	"bytes"
	_ "embed" // embeds the compiled programs
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"tare/internal/layer"
	"tare/internal/lists"
)

//go:embed programs/connect.o
var connectObject []byte

//go:embed programs/lsm.o
var lsmObject []byte

// loaded holds the BPF programs that are loaded for one arm. The zero value holds no programs.
type loaded struct {
	collection *ebpf.Collection
	attach     func(*ebpf.Program) (link.Link, error)
	links      []link.Link
	hooks      int
}

// LoadConnect loads the filter of connections for a cgroup. The argument group is the cgroup's open directory.
func LoadConnect(group *os.File, four, six []ConnectRule) (*loaded, error) {
	spec, err := read(connectObject, map[string]any{"rules": uint32(len(four))})
	if err != nil {
		return nil, err
	}
	l := &loaded{hooks: 1}
	l.attach = func(p *ebpf.Program) (link.Link, error) {
		at := ebpf.AttachCGroupInet4Connect
		if p == l.collection.Programs["connect6"] {
			at = ebpf.AttachCGroupInet6Connect
		}
		return link.AttachRawLink(link.RawLinkOptions{Target: int(group.Fd()), Program: p, Attach: at})
	}
	return l, l.load(spec, ebpf.CGroupSockAddr, func(m map[string]*ebpf.Map) error { return setConnectRules(m, four, six) })
}

var lsmPrograms = []string{FileOpen: "file_open", Exec: "bprm_check_security", Connect: "socket_connect", Ptrace: "ptrace_access_check",
	Mount: "sb_mount", Capable: "capable"}

// LoadLSM loads BPF programs for hooks of a Linux security module. They apply to the processes of a cgroup: group is
// its open directory.
func LoadLSM(group *os.File, p Policy) (*loaded, error) {
	id, err := idOf(group)
	if err != nil {
		return nil, err
	}
	suffix := uint32(0)
	if p.Suffix {
		suffix = 1
	}
	spec, err := read(lsmObject, map[string]any{"rules": uint32(p.Rules), "action": uint32(slices.Index(layer.Action("").Values(), string(p.Action))),
		"suffix": suffix, "capabilities": p.Capabilities, "group_id": id})
	if err != nil {
		return nil, err
	}
	for i, name := range lsmPrograms {
		if !slices.Contains(p.Hooks, i) {
			delete(spec.Programs, name)
		}
	}
	l := &loaded{hooks: len(lsmPrograms)}
	l.attach = func(p *ebpf.Program) (link.Link, error) { return link.AttachLSM(link.LSMOptions{Program: p}) }
	return l, l.load(spec, ebpf.LSM, func(m map[string]*ebpf.Map) error {
		return errors.Join(setConnectRules(m, p.Four, p.Six), setTextRules(m["texts"], p.Files, p.Programs, p.Sources), put(m["group"], 0, uint32(group.Fd())))
	})
}

// idOf returns the kernel's id of a cgroup: the inode number of the cgroup's directory.
func idOf(group *os.File) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(group.Fd()), &st)
	return st.Ino, err
}

func read(object []byte, values map[string]any) (*ebpf.CollectionSpec, error) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("read Tare's BPF programs: %w", err)
	}
	for name, value := range values {
		v := spec.Variables[name]
		if v == nil {
			return nil, fmt.Errorf("tare's BPF programs have no %s", name)
		}
		if err := v.Set(value); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

func (l *loaded) load(spec *ebpf.CollectionSpec, kind ebpf.ProgramType, fill func(map[string]*ebpf.Map) error) error {
	err := rlimit.RemoveMemlock() // kernels before 5.11 count maps against the limit on locked memory
	if err == nil {
		l.collection, err = ebpf.NewCollection(spec)
	}
	if err != nil {
		return explained(kind, err)
	}
	if err := fill(l.collection.Maps); err != nil {
		l.collection.Close()
		return fmt.Errorf("set the rules: %w", err)
	}
	return nil
}

// explained adds the cause to an error of loading a BPF program: the kernel lacks its type, or the system refuses it.
func explained(kind ebpf.ProgramType, err error) error {
	what := "BPF programs of type " + strings.ToLower(kind.String())
	switch have := features.HaveProgramType(kind); {
	case errors.Is(have, ebpf.ErrNotSupported):
		return fmt.Errorf("this kernel has no %s: %w", what, have)
	case errors.Is(have, unix.EPERM) && os.Geteuid() != 0:
		return fmt.Errorf("only root can load %s: %w", what, have)
	case errors.Is(have, unix.EPERM):
		return fmt.Errorf("this system refuses %s, although the kernel has them and this process is root: %w", what, have)
	}
	return fmt.Errorf("load %s: %w", what, err)
}

func put(m *ebpf.Map, i int, value any) error { return m.Put(uint32(i), value) }

func setConnectRules(m map[string]*ebpf.Map, four, six []ConnectRule) error {
	var errs []error
	for name, list := range map[string][]ConnectRule{"rules4": four, "rules6": six} {
		for i, p := range list {
			value := make([]byte, 36) // address, mask and port, in network byte order
			address := p.Prefix.Addr().AsSlice()
			copy(value, address)
			mask := value[16:32]
			for bit := range p.Prefix.Bits() {
				mask[bit/8] |= 0x80 >> (bit % 8)
			}
			binary.BigEndian.PutUint16(value[32:], p.Port)
			errs = append(errs, put(m[name], i, value))
		}
	}
	return errors.Join(errs...)
}

func setTextRules(m *ebpf.Map, kinds ...[]string) error {
	var errs []error
	for k, list := range kinds {
		for i, text := range list {
			if len(text) > TextMost {
				return fmt.Errorf("the rule %q is longer than %d bytes", text, TextMost)
			}
			value := make([]byte, 4+TextMost)
			binary.NativeEndian.PutUint32(value, uint32(len(text)))
			copy(value[4:], text)
			errs = append(errs, put(m, k*Most+i, value))
		}
	}
	return errors.Join(errs...)
}

// On attaches the programs to their hooks; it does nothing if they are attached already.
func (l *loaded) On() error {
	if l.links != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(l.collection.Programs)) {
		made, err := l.attach(l.collection.Programs[name])
		if err != nil {
			return errors.Join(fmt.Errorf("attach %s: %w", name, err), l.Off())
		}
		l.links = append(l.links, made)
	}
	return nil
}

// Off detaches the programs and checks that they are detached. They may be detached already.
func (l *loaded) Off() error {
	if l.links == nil {
		return nil
	}
	errs := lists.Map(l.links, link.Link.Close)
	l.links = nil
	return errors.Join(append(errs, l.gone())...)
}

// goneLimit is how long Off waits until its programs are detached, because a child process that is just being started
// briefly holds copies of the links that Off closed.
const goneLimit = time.Second

func (l *loaded) gone() error {
	ours, err := l.programNames()
	if err != nil {
		return err
	}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		name, err := attached(ours, 0)
		if err != nil || name == "" {
			return err
		}
		if time.Since(begun) > goneLimit {
			return fmt.Errorf("the program %s is still attached", name)
		}
	}
}

// AttachedTo returns the name of one of the programs if it is attached to the cgroup, or to a hook of the machine;
// "" if none is.
func (l *loaded) AttachedTo(group *os.File) (string, error) {
	if l.collection == nil {
		return "", nil
	}
	ours, err := l.programNames()
	if err != nil {
		return "", err
	}
	id, err := idOf(group)
	if err != nil {
		return "", err
	}
	return attached(ours, id)
}

func (l *loaded) programNames() (map[ebpf.ProgramID]string, error) {
	ours := map[ebpf.ProgramID]string{}
	for name, p := range l.collection.Programs {
		info, err := p.Info()
		if err != nil {
			return nil, err
		}
		if id, ok := info.ID(); ok {
			ours[id] = name
		}
	}
	return ours, nil
}

// attached returns the name of a given program that is attached to a hook of the machine or to the cgroup with id group
// (0: any cgroup). "": none is.
func attached(programs map[ebpf.ProgramID]string, group uint64) (string, error) {
	var all link.Iterator
	defer all.Close()
	for all.Next() {
		info, err := all.Link.Info()
		if err != nil || programs[info.Program] == "" {
			continue
		}
		if on := info.Cgroup(); on == nil || group == 0 || on.CgroupId == group {
			return programs[info.Program], nil
		}
	}
	return "", all.Err()
}

// Close detaches and unloads the programs. It may be called again.
func (l *loaded) Close() error {
	err := l.Off()
	if l.collection != nil {
		l.collection.Close()
		l.collection = nil
	}
	return err
}

// Counts returns the counts of the hooks, summed over all CPUs; nil if the programs are closed.
func (l *loaded) Counts() ([]count, error) {
	if l.collection == nil {
		return nil, nil
	}
	counts := make([]count, l.hooks)
	for i := range counts {
		var each []count
		if err := l.collection.Maps["counts"].Lookup(uint32(i), &each); err != nil {
			return nil, fmt.Errorf("read the counts of a hook: %w", err)
		}
		for _, c := range each {
			counts[i].Hits += c.Hits
			counts[i].Matches += c.Matches
		}
	}
	return counts, nil
}
