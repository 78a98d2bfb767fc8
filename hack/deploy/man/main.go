// Command man writes a manual page for each of tare's commands into a directory.
// The date is that of SOURCE_DATE_EPOCH, so that the same sources give the same
// bytes. `make man` calls it. It is a program of its own since the library that
// writes the pages has no place in the binary of tare.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"tare/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// run writes the pages: man VERSION DIR.
func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: man VERSION DIR")
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	version, dir := args[0], args[1]
	root := cli.Root(cli.State{})
	root.InitDefaultHelpCmd()
	describe(root)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	date := time.Unix(seconds, 0).UTC()
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "tare " + version, Manual: "Tare", Date: &date}, dir)
}

// describe readies the texts of a command and of those below it.
func describe(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = markdown(c.Long)
	for _, sub := range c.Commands() {
		describe(sub)
	}
}

// markdown is help text as Markdown, which the library takes it for: an indented
// line is an example there, too, and nothing else is markup.
func markdown(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "\t"):
		case strings.HasPrefix(line, "  "):
			lines[i] = "  " + line
		default:
			lines[i] = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "`", "\\`").Replace(line)
		}
	}
	return strings.Join(lines, "\n")
}
