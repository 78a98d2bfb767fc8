package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tare/image/tree"
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
		Files:      tree.Tree{"/pause": {Mode: 0o755, Content: content}},
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
	files := tree.Tree{
		"/etc/passwd": {Mode: 0o644, Content: []byte("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")},
		"/etc/group":  {Mode: 0o644, Content: []byte("root:x:0:\nnogroup:x:65534:\n")},
		"/tmp":        {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"/var/run":    {Mode: fs.ModeDir | 0o755},
	}
	add := func(from, to string) error {
		content, err := os.ReadFile(from)
		files[to] = tree.File{Mode: 0o755, Content: content}
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
			files["/bin/"+applet] = tree.File{Mode: fs.ModeSymlink | 0o777, Target: "busybox"}
		}
	}
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
			if err := add(library, library); err != nil {
				return Image{}, err
			}
		}
	}
	return Image{Reference: ToolsReference, Files: files, Entrypoint: []string{"/bin/sh"}}, nil
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
