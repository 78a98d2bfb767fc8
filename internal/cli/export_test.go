package cli_test

import (
	"strings"
	"testing"

	"tare/internal/cli"
)

// TestExportToTerminal checks that a binary format is not written to a terminal.
func TestExportToTerminal(t *testing.T) {
	var stdout, stderr strings.Builder
	code := cli.Main([]string{"export", "--as", "bundle"}, cli.State{Stdout: &stdout, Stderr: &stderr, StdoutTerminal: true})
	want := "tare: bundle is not written to a terminal\nhint: name a file: --to run.tar.gz\n"
	if code != cli.ExitUsage || stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("status %d, %q on stderr, %d bytes on stdout; want status %d and %q", code, stderr.String(), stdout.Len(), cli.ExitUsage, want)
	}
}
