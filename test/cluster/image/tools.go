package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// References of the images that every test cluster has.
const (
	PauseReference = "tare.test/pause:1"
	ToolsReference = "tare.test/tools:1"
)

// Pause is the image of the sandbox container, from a static binary.
func Pause(binary string) (Image, error) {
	content, err := os.ReadFile(binary)
	return Image{
		Reference:  PauseReference,
		Entries:    []Entry{{Path: "/pause", Mode: 0o755, Content: content}},
		Entrypoint: []string{"/pause"},
	}, err
}

// Tools is an image with a shell (busybox), iperf3 and fio, taken with the
// libraries they need from the packages installed on this machine.
func Tools(ctx context.Context) (Image, error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return Image{}, err
	}
	entries := []Entry{
		{Path: "/etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")},
		{Path: "/etc/group", Mode: 0o644, Content: []byte("root:x:0:\nnogroup:x:65534:\n")},
		{Path: "/tmp", Mode: os.ModeDir | os.ModeSticky | 0o777},
		{Path: "/var/run", Mode: os.ModeDir | 0o755},
	}
	add := func(from, to string) error {
		content, err := os.ReadFile(from)
		entries = append(entries, Entry{Path: to, Mode: 0o755, Content: content})
		return err
	}
	if err := add(busybox, "/bin/busybox"); err != nil {
		return Image{}, err
	}
	applets, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return Image{}, fmt.Errorf("busybox --list: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			entries = append(entries, Entry{Path: "/bin/" + applet, Mode: os.ModeSymlink | 0o777, Content: []byte("busybox")})
		}
	}
	libraries := map[string]bool{}
	for _, tool := range []string{"iperf3", "fio"} {
		program, err := exec.LookPath(tool)
		if err != nil {
			return Image{}, err
		}
		if err := add(program, "/usr/bin/"+tool); err != nil {
			return Image{}, err
		}
		needed, err := librariesOf(ctx, program)
		if err != nil {
			return Image{}, err
		}
		for _, library := range needed {
			if libraries[library] {
				continue
			}
			libraries[library] = true
			if err := add(library, library); err != nil {
				return Image{}, err
			}
		}
	}
	return Image{Reference: ToolsReference, Entries: entries, Entrypoint: []string{"/bin/sh"}}, nil
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
