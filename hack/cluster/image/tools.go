package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"tare/hack/image/tree"
)

// References of the images that every test cluster has.
const (
	PauseReference = "tare.test/pause:1"
	ToolsReference = "tare.test/tools:1"
)

// Static is an image of one static program, at a path, and of a directory /tmp.
func Static(reference, program, at, user string) (Image, error) {
	content, err := os.ReadFile(program)
	return Image{
		Reference: reference,
		Files: tree.Tree{
			at:     {Mode: 0o755, Content: content},
			"/tmp": {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		},
		Entrypoint: []string{at},
		User:       user,
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
	content, err := os.ReadFile(busybox)
	if err != nil {
		return Image{}, err
	}
	files["/bin/busybox"] = tree.File{Mode: 0o755, Content: content}
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
		if err := files.TakeInstalled(ctx, program, "/usr/bin/"+tool); err != nil {
			return Image{}, err
		}
	}
	return Image{Reference: ToolsReference, Files: files, Entrypoint: []string{"/bin/sh"}}, nil
}
