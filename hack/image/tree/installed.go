package tree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// TakeInstalled copies a program of this machine to a path, with the dynamic linker and the shared
// libraries that it finds here.
func (t Tree) TakeInstalled(ctx context.Context, program, to string) error {
	needed, err := librariesOf(ctx, program)
	if err != nil {
		return err
	}
	from := map[string]string{to: program}
	for _, library := range needed {
		at := library
		if _, merged := t["/lib"]; merged {
			at = Canonical(library)
		}
		from[at] = library
	}
	for at, file := range from {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		t[at] = File{Mode: 0o755, Content: content}
	}
	return nil
}

// librariesOf lists the shared libraries of a program, the dynamic linker
// included, by the paths that the linker finds them at.
func librariesOf(ctx context.Context, program string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", program, err)
	}
	var libraries []string
	for line := range strings.Lines(string(out)) {
		for _, field := range strings.Fields(line) {
			if filepath.IsAbs(field) {
				libraries = append(libraries, field)
			}
		}
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("ldd %s: %s", program, strings.TrimSpace(line))
		}
	}
	return libraries, nil
}
