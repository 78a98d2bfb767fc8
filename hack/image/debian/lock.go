// Package debian fetches packages of Debian by name, version and digest with
// apt, whose state on this machine stays as it is: every question goes to a
// configuration and to directories of its own, so that it works without root
// and for other architectures than the machine's.
package debian

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Package is one package, pinned.
type Package struct {
	Arch, Name, Version string
	SHA256              string // of the .deb file, hexadecimal
}

// String is how apt-get names it.
func (p Package) String() string { return p.Name + "=" + p.Version }

// What the fields of a lock may be. They become arguments of apt-get and names
// of files.
var fields = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"architecture", regexp.MustCompile(`^[a-z0-9]+$`)},
	{"name", regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)},
	{"version", regexp.MustCompile(`^[0-9][A-Za-z0-9.+:~-]*$`)},
	{"SHA-256", regexp.MustCompile(`^[0-9a-f]{64}$`)},
}

// ReadLock reads a lock: a package a line, comments after #.
func ReadLock(r io.Reader) ([]Package, error) {
	var packages []Package
	lines := bufio.NewScanner(r)
	seen := map[[2]string]bool{}
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != len(fields) {
			return nil, fmt.Errorf("line %d: %d fields, want architecture, name, version and SHA-256", n, len(words))
		}
		for i, f := range fields {
			if !f.pattern.MatchString(words[i]) {
				return nil, fmt.Errorf("line %d: %q is not the %s of a package", n, words[i], f.name)
			}
		}
		p := Package{Arch: words[0], Name: words[1], Version: words[2], SHA256: words[3]}
		if seen[[2]string{p.Arch, p.Name}] {
			return nil, fmt.Errorf("line %d: %s for %s is there twice", n, p.Name, p.Arch)
		}
		seen[[2]string{p.Arch, p.Name}] = true
		packages = append(packages, p)
	}
	return packages, lines.Err()
}

// WriteLock writes a lock with a comment before it.
func WriteLock(w io.Writer, comment string, packages []Package) error {
	for line := range strings.Lines(comment) {
		if _, err := fmt.Fprintf(w, "# %s", line); err != nil {
			return err
		}
	}
	sorted := slices.SortedFunc(slices.Values(packages), func(a, b Package) int {
		return cmp.Or(cmp.Compare(a.Arch, b.Arch), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range sorted {
		if _, err := fmt.Fprintln(w, p.Arch, p.Name, p.Version, p.SHA256); err != nil {
			return err
		}
	}
	return nil
}

// For are the packages of one architecture.
func For(packages []Package, arch string) []Package {
	return slices.DeleteFunc(slices.Clone(packages), func(p Package) bool { return p.Arch != arch })
}
