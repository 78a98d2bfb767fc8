package tree

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// triplets are Debian's names of the directories of libraries.
var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// TakeProgram copies a program from another tree with its dynamic linker and
// every shared library that they need, for an architecture in Go's words.
func (t Tree) TakeProgram(from Tree, program, arch string) error {
	triplet, ok := triplets[arch]
	if !ok {
		return fmt.Errorf("no directory of libraries is known for the architecture %s", arch)
	}
	done := map[string]bool{}
	// The linker looks for all libraries of a process in one list of names: what
	// one object has found by its own RUNPATH serves the others too.
	found := map[string]bool{}
	for todo := []string{program}; len(todo) > 0; {
		name, err := t.Take(from, todo[0])
		if err != nil {
			return err
		}
		todo = todo[1:]
		if done[name] {
			continue
		}
		done[name] = true
		needs, err := read(t[name].Content, path.Dir(name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if needs.interpreter != "" {
			todo = append(todo, needs.interpreter)
			found[path.Base(needs.interpreter)] = true
		}
		dirs := slices.Concat(needs.runpath, []string{"/usr/lib/" + triplet, "/usr/lib"})
		for _, library := range needs.libraries {
			if found[library] {
				continue
			}
			at, ok := from.find(library, dirs)
			if !ok {
				return fmt.Errorf("%s needs %s, which is in none of the packages (in %s)", name, library, strings.Join(dirs, ", "))
			}
			found[library] = true
			todo = append(todo, at)
		}
	}
	return nil
}

func (t Tree) find(library string, dirs []string) (string, bool) {
	for _, dir := range dirs {
		at := Canonical(path.Join(dir, library))
		if _, ok := t[at]; ok {
			return at, true
		}
	}
	return "", false
}

// needs are what an ELF object wants at run time; nothing for a static one.
type needs struct {
	interpreter string
	runpath     []string
	libraries   []string
}

func read(content []byte, origin string) (needs, error) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return needs{}, err
	}
	var n needs
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name, err := io.ReadAll(p.Open())
		if err != nil {
			return needs{}, err
		}
		n.interpreter = strings.TrimRight(string(name), "\x00")
	}
	if f.SectionByType(elf.SHT_DYNAMIC) == nil {
		return n, nil
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, err := f.DynString(tag)
		if err != nil {
			return needs{}, err
		}
		for _, v := range values {
			for dir := range strings.SplitSeq(v, ":") {
				n.runpath = append(n.runpath, strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir))
			}
		}
	}
	n.libraries, err = f.ImportedLibraries()
	return n, err
}
