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

// Command starts the named helper at a place of a site with a single request on its standard input. The
// helper's main function is made by Reading or Answering.
func Command(site testbed.Site, where testbed.Place, name string, request any) (testbed.Command, error) {
	text, err := json.Marshal(request)
	cmd := testbed.HelperAt(site, where, name)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	return cmd, err
}

// Once has a helper serve a single request and waits for its end. It decodes the response unless into is
// nil. If the helper fails, the error is a testbed.ExitError with its standard error.
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

// outputOf runs a helper and returns its standard output. The error contains its standard error on one line.
func outputOf(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, error) {
	var why bytes.Buffer
	cmd.Stderr = &why
	text, _, err := Output(ctx, site, where, cmd)
	if exit := (*testbed.ExitError)(nil); errors.As(err, &exit) && why.Len() > 0 {
		exit.Stderr = safetext.Line(why.String())
	}
	return text, err
}

// Output is like testbed.Run, but also returns the command's standard output, even if it failed.
func Output(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, testbed.Usage, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	used, err := testbed.Run(ctx, site, where, cmd)
	return out.Bytes(), used, err
}

// maxSingleRequest is the size of the largest single request, in bytes. It may contain thousands of HTTP
// requests with their bodies.
const maxSingleRequest = 1 << 30

// Reading is the main function of a helper that serves a single request. name begins its error messages.
func Reading[O any](name string, do func(ctx context.Context, request O) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var request O
		if err := json.NewDecoder(io.LimitReader(os.Stdin, maxSingleRequest)).Decode(&request); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return do(ctx, request)
	}
}

// Answering is the main function of a helper that serves a single request and prints a response.
func Answering[O, A any](name string, serve func(ctx context.Context, request O) (A, error)) func(context.Context) error {
	return Reading(name, func(ctx context.Context, request O) error {
		response, err := serve(ctx, request)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(response)
	})
}
