package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"tare/safetext"
	"tare/testbed"
)

// Command starts the helper of that name at a place of a site, with one order on its standard
// input, which ends there. The helper's main function is made by Reading or Answering.
func Command(site testbed.Site, where testbed.Place, name string, order any) (testbed.Command, error) {
	text, err := json.Marshal(order)
	cmd := testbed.HelperAt(site, where, name)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	return cmd, err
}

// Once has a helper carry out one order and waits for its end. The answer is decoded unless
// into is nil. The error of a helper that failed is a testbed.ExitError with what it said.
func Once(ctx context.Context, site testbed.Site, where testbed.Place, name string, order, into any) error {
	cmd, err := Command(site, where, name, order)
	if err != nil {
		return err
	}
	text, err := answerOf(ctx, site, where, cmd)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	return nil
}

// answerOf is Output of a helper, whose standard error is in the error, on one line.
func answerOf(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, error) {
	var why bytes.Buffer
	cmd.Stderr = &why
	text, _, err := Output(ctx, site, where, cmd)
	if exit := (*testbed.ExitError)(nil); errors.As(err, &exit) && why.Len() > 0 {
		exit.Stderr = safetext.Line(why.String())
	}
	return text, err
}

// Output is testbed.Run with what the command printed, also if it failed.
func Output(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, testbed.Usage, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	used, err := testbed.Run(ctx, site, where, cmd)
	return out.Bytes(), used, err
}

// largest is the largest order of a helper that takes one, in bytes. Thousands of requests with
// their bodies may be in it.
const largest = 1 << 30

// Reading is the main function of a helper that is given one order, which errors call by that
// name.
func Reading[O any](name string, do func(ctx context.Context, order O) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var order O
		if err := json.NewDecoder(io.LimitReader(os.Stdin, largest)).Decode(&order); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return do(ctx, order)
	}
}

// Answering is Reading for a helper that prints an answer.
func Answering[O, A any](name string, obey func(ctx context.Context, order O) (A, error)) func(context.Context) error {
	return Reading(name, func(ctx context.Context, order O) error {
		answer, err := obey(ctx, order)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(answer)
	})
}
