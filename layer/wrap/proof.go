package wrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"tare/layer"
	"tare/layer/evidence"
	"tare/testbed"
)

// pattern is what the output is looked at with. As in grep, ^ and $ match at the
// beginning and end of each line: what programs print ends in a newline.
func (p *Proof) pattern() (*regexp.Regexp, error) { return regexp.Compile("(?m)" + p.Match) }

// check runs the proof as a command under test at a place, in the wrapper if there is one,
// and compares: it must match with it and must not match without.
func (p *Proof) check(ctx context.Context, site testbed.Site, where testbed.Place, on bool) ([]layer.Check, error) {
	pattern, err := p.pattern()
	if err != nil {
		return nil, fmt.Errorf("proof.match: %w", err)
	}
	text, failed := evidence.Output(ctx, site, where, testbed.Command{Args: p.Run, Subject: true}, evidence.Limit)
	if err := interrupted(ctx, failed); err != nil {
		return nil, err
	}
	check := layer.Check{Layer: name, Name: testbed.Quote(p.Run), Expected: "not to match " + p.Match, Observed: evidence.Quote(text)}
	if on {
		check.Expected = "to match " + p.Match
	}
	check.OK = pattern.MatchString(text) == on
	// A proof that fails without the layer still proves that it is off, but
	// not if it could not be started or did not end.
	var exit *testbed.ExitError
	if failed != nil {
		check.Observed += "; " + failed.Error()
		check.OK = check.OK && errors.As(failed, &exit) && exit.Code >= 0
	}
	return []layer.Check{check}, nil
}

// starts shows that the wrapper starts a command and passes on its answer.
func starts(ctx context.Context, site testbed.Site, where testbed.Place) ([]layer.Check, error) {
	question := fmt.Sprintf("%d", time.Now().UnixNano())
	cmd := testbed.HelperAt(site, where, name)
	cmd.Stdin, cmd.Subject = strings.NewReader(question), true
	text, failed := evidence.Output(ctx, site, where, cmd, evidence.Limit)
	if err := interrupted(ctx, failed); err != nil {
		return nil, err
	}
	check := layer.Check{Layer: name, Name: "command in front", Expected: "it starts a command and passes its answer on", OK: true}
	check.Observed = "it does"
	check.Caveat = "no proof was given for the command in front: it was started, but nothing shows that it does anything"
	if failed != nil || text != answerTo(question) {
		check.OK = false
		check.Observed = "it answered " + evidence.Quote(text)
		if failed != nil {
			check.Observed += "; " + failed.Error()
		}
	}
	return []layer.Check{check}, nil
}

func answerTo(question string) string { return "started: " + question }

// answer is the process that is started to show that the wrapper starts one.
func answer(context.Context) error {
	question, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<10))
	if err != nil {
		return err
	}
	_, err = io.WriteString(os.Stdout, answerTo(string(question)))
	return err
}

// interrupted gives the error of a command that shows nothing of the layer: it was
// interrupted, or its place was lost.
func interrupted(ctx context.Context, failed error) error {
	var lost *testbed.Disturbance
	if errors.As(failed, &lost) {
		return failed
	}
	return ctx.Err()
}
