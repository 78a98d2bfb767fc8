// Package evidence is for layers whose proof is the output of a program. It runs the program with limits on time and
// output. The pattern on must match while the layer is on, the pattern off while it is off.
package evidence

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// These are limits on a program that makes a proof.
const (
	Limit      = 30 * time.Second
	outputRead = 1 << 20 // bytes of the program's output that are checked
	shown      = 160     // bytes of the program's output that a check shows
	stderrTail = 400     // bytes of the program's standard error that an error shows
)

// Patterns are regular expressions for a program's standard output. As in grep, ^ and $ match at each line.
type Patterns struct {
	On  string // pattern that matches only while the layer is on
	Off string // pattern that matches only while the layer is off; "" if unset
}

// Validate reports every problem of the patterns. Their names in the experiment file are on and off, after the prefix
// field, such as "check.".
func (p Patterns) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	for _, each := range []struct{ name, text string }{{"on", p.On}, {"off", p.Off}} {
		if each.text == "" {
			continue
		}
		pattern, err := compile(each.text)
		switch {
		case err != nil:
			errs.Add(field+each.name, "%q is not a regular expression: %v", each.text, err)
		case each.name == "on" && pattern.MatchString(""):
			errs.Add(field+each.name, "%q matches even if nothing is printed, and so proves nothing", each.text)
		}
	}
	if p.On == p.Off && p.On != "" {
		errs.Add(field+"off", "off is the same as on, so that one output would show both")
	}
	return errs
}

func compile(text string) (*regexp.Regexp, error) { return regexp.Compile("(?m)" + text) }

// State is a layer's state, as the output of a program shows it.
type State int

const (
	Unclear State = iota // the output matches neither of the two patterns, or both
	On
	Off
)

// State returns the layer's state that a program's output shows. failed is the program's error, or nil. After a failure
// only a match of Off is evidence, since other text may be missing.
func (p Patterns) State(text string, failed error) State {
	on, errOn := compile(p.On)
	off, errOff := compile(p.Off)
	if errOn != nil || errOff != nil {
		return Unclear // not possible after Validate
	}
	var exit *testbed.ExitError
	ended := failed == nil || errors.As(failed, &exit) && exit.Code >= 0
	isOn, isOff := on.MatchString(text), off.MatchString(text)
	if p.Off == "" {
		isOff = !isOn && failed == nil
	}
	switch {
	case isOn && !isOff && failed == nil:
		return On
	case isOff && !isOn && ended:
		return Off
	}
	return Unclear
}

// Check checks that a program's output shows the layer in the state want. The argument failed is the program's
// error, or nil.
func (p Patterns) Check(kind, name string, want State, text string, failed error) layer.Check {
	check := layer.Check{Layer: kind, Name: name, Expected: p.expected(want), Observed: Quote(text), OK: p.State(text, failed) == want}
	if failed != nil {
		check.Observed += "; " + safetext.Tail(failed.Error(), stderrTail)
	}
	return check
}

func (p Patterns) expected(want State) string {
	match, other := p.On, p.Off
	if want != On {
		match, other = other, match
	}
	switch {
	case match == "":
		return "not to match " + other
	case other == "":
		return "to match " + match
	}
	return "to match " + match + ", and not " + other
}

// Output runs a program at a place and returns the beginning of its stdout. The error contains the end of its stderr.
func Output(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command, limit time.Duration) (string, error) {
	var stdout head
	var stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := testbed.Run(limited, site, where, cmd)
	var exit *testbed.ExitError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return string(stdout), ctx.Err()
	case limited.Err() != nil:
		err = fmt.Errorf("%s: not finished within %v: %s", testbed.Quote(cmd.Args), limit, string(stderr))
	case errors.As(err, &exit):
		exit.Stderr = safetext.Tail(strings.TrimSpace(string(stderr)), stderrTail)
	}
	return string(stdout), err
}

type head []byte // keeps the beginning of the bytes written to it

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), outputRead-len(*h))]...)
	return len(p), nil
}

type tail []byte // a writer that keeps only the last bytes written to it

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = append((*t)[:0], (*t)[max(len(*t)-stderrTail, 0):]...)
	return len(p), nil
}

// Marker returns a random text of 64 bytes, which has never been sent before.
func Marker() string {
	var random [32]byte
	_, _ = rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// Quote returns the beginning of a text, in quotes and without control sequences for a terminal.
func Quote(text string) string {
	if len(text) > shown {
		return fmt.Sprintf("%s and %d more bytes", strconv.QuoteToGraphic(text[:shown]), len(text)-shown)
	}
	return strconv.QuoteToGraphic(text)
}
