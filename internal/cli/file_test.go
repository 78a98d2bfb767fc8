package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"tare/internal/cli"
)

// TestWaiting interrupts commands that wait for standard input.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"validate", "-"}, {"plan", "-"}, {"run", "-"}, {"import", "csv", "-"}} {
		in, out := io.Pipe()
		defer out.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		root := cli.Root(cli.State{Stdin: in, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
		root.SetArgs(args)
		if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) && (err == nil || err.Error() != "exit status 130") {
			t.Errorf("%q: error %v", args, err)
		}
	}
}
