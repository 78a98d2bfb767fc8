package machine

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"tare/safetext"
)

// ToolQuery asks for a program's version.
type ToolQuery struct {
	Name string
	Path string   // of the program; "": it is looked up in PATH by its name
	Args []string // that make it tell its version: "--version"
}

const (
	toolPatience  = 5 * time.Second // for one program
	maxToolOutput = 64 << 10        // bytes of its output that are looked at
	maxVersion    = 200             // bytes of a version
)

// A Runner runs a program to its end, and keeps what that prints.
type Runner func(ctx context.Context, args, env []string, stdout, stderr io.Writer)

// queryTool runs a program once. A program that is missing has no path, one
// that says nothing has no version.
func queryTool(ctx context.Context, q ToolQuery, run Runner) Tool {
	t := Tool{Name: q.Name}
	path, err := exec.LookPath(cmp.Or(q.Path, q.Name))
	if err != nil {
		return t
	}
	t.Path = withoutUser(path)
	ctx, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	var out, problems limitedBuffer
	// Many programs end with an error after telling their version, some on standard error.
	run(ctx, append([]string{path}, q.Args...), []string{"LC_ALL=C"}, &out, &problems)
	t.Version = strings.TrimSpace(strings.ReplaceAll(firstLine(append(out.kept, problems.kept...)), path, q.Name))
	return t
}

// firstLine gives the first line that is not empty, cut to a bearable length.
func firstLine(output []byte) string {
	for line := range bytes.Lines(output) {
		if text := safetext.Head(string(line), maxVersion); text != "" {
			return withoutUser(text)
		}
	}
	return ""
}

var homeDir = regexp.MustCompile(`/(home|Users)/[^/\s]+`)

// withoutUser writes home directories as "~".
func withoutUser(text string) string { return homeDir.ReplaceAllString(text, "~") }

// limitedBuffer keeps the first bytes written to it and takes the rest silently.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := max(0, maxToolOutput-len(b.kept))
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}
