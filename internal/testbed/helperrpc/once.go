package helperrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// Command returns the command that starts the named helper at a place of a site, with a single request on its
// standard input. Reading or Answering must make the helper's main function.
func Command(site testbed.Site, where testbed.Place, name string, request any) (testbed.Command, error) {
	text, err := json.Marshal(request)
	cmd := testbed.HelperAt(site, where, name)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	return cmd, err
}

// Once starts a helper for a single request and waits until the helper ends. It decodes the response into
// into, unless into is nil. If the helper fails, the error is a testbed.ExitError that contains the helper's
// standard error.
func Once(ctx context.Context, site testbed.Site, where testbed.Place, name string, request, into any) error {
	cmd, err := Command(site, where, name, request)
	if err != nil {
		return err
	}
	text, err := outputOf(ctx, site, where, cmd)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	return nil
}

// outputOf runs a helper and returns its standard output. The error contains the helper's standard error as
// one line.
func outputOf(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, error) {
	var why bytes.Buffer
	cmd.Stderr = &why
	text, _, err := Output(ctx, site, where, cmd)
	if exit := (*testbed.ExitError)(nil); errors.As(err, &exit) && why.Len() > 0 {
		exit.Stderr = safetext.Line(why.String())
	}
	return text, err
}

// Output runs a command like testbed.Run. It also returns the command's standard output, even if the command
// failed.
func Output(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, testbed.Usage, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	used, err := testbed.Run(ctx, site, where, cmd)
	return out.Bytes(), used, err
}

// maxSingleRequest is the size of the largest single request, in bytes. It may contain thousands of HTTP
// requests with their bodies.
const maxSingleRequest = 1 << 30

// Reading makes the main function of a helper that serves a single request. Error messages about the request
// begin with name.
func Reading[O any](name string, do func(ctx context.Context, request O) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var request O
		if err := json.NewDecoder(io.LimitReader(os.Stdin, maxSingleRequest)).Decode(&request); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return do(ctx, request)
	}
}

// Answering makes the main function of a helper that serves a single request and prints a response.
func Answering[O, A any](name string, serve func(ctx context.Context, request O) (A, error)) func(context.Context) error {
	return Reading(name, func(ctx context.Context, request O) error {
		response, err := serve(ctx, request)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(response)
	})
}
