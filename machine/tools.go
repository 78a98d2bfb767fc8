package machine

import (
	"bytes"
	"cmp"
	"context"
	"os"
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

// queryTools runs each program once. A program that is missing has no path, one
// that says nothing has no version.
func queryTools(ctx context.Context, queries []ToolQuery) []Tool {
	var tools []Tool
	for _, q := range queries {
		tools = append(tools, queryTool(ctx, q))
	}
	return tools
}

func queryTool(ctx context.Context, q ToolQuery) Tool {
	t := Tool{Name: q.Name}
	path, err := exec.LookPath(cmp.Or(q.Path, q.Name))
	if err != nil {
		return t
	}
	t.Path = withoutUser(path)
	ctx, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	var out limitedBuffer
	cmd := exec.CommandContext(ctx, path, q.Args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = &out, &out
	endWhole(cmd)
	cmd.WaitDelay = time.Second
	// Many programs end with an error after telling their version.
	_ = cmd.Run()
	t.Version = strings.TrimSpace(strings.ReplaceAll(firstLine(out.kept), path, q.Name))
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
