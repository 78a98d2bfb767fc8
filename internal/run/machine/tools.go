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

	"tare/internal/text/safetext"
)

// ToolQuery is a query for a program's version.
type ToolQuery struct {
	Name string
	Path string   // path of the program; "": the program is found by its name in PATH
	Args []string // arguments that print the version: "--version"
}

const (
	toolTimeout   = 5 * time.Second // time limit for one program
	maxToolOutput = 64 << 10        // maximum output kept, in bytes
	maxVersion    = 200             // maximum length of a version, in bytes
)

// A Runner runs a program to its end and writes its output to stdout and stderr.
type runner func(ctx context.Context, args, env []string, stdout, stderr io.Writer)

// queryTool runs a program to get its version. A missing program has no path. A program without output
// has no version.
func queryTool(ctx context.Context, q ToolQuery, run runner) Tool {
	t := Tool{Name: q.Name}
	path, err := exec.LookPath(cmp.Or(q.Path, q.Name))
	if err != nil {
		return t
	}
	t.Path = withoutUser(path)
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	var out, problems limitedBuffer
	// Many programs end with an error after printing their version, and some print it on standard error.
	run(ctx, append([]string{path}, q.Args...), []string{"LC_ALL=C"}, &out, &problems)
	t.Version = strings.TrimSpace(strings.ReplaceAll(firstLine(append(out.kept, problems.kept...)), path, q.Name))
	return t
}

// firstLine returns the first line that is not empty, shortened to maxVersion.
func firstLine(output []byte) string {
	for line := range bytes.Lines(output) {
		if text := safetext.Head(string(line), maxVersion); text != "" {
			return withoutUser(text)
		}
	}
	return ""
}

var homeDir = regexp.MustCompile(`/(home|Users)/[^/\s]+`)

// withoutUser replaces home directories by "~".
func withoutUser(text string) string { return homeDir.ReplaceAllString(text, "~") }

// limitedBuffer keeps the first bytes written to it and drops the rest.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := max(0, maxToolOutput-len(b.kept))
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}
