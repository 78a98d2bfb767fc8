package storage

import (
	"errors"
	"fmt"
	"strings"

	"tare/internal/testbed"
	"tare/internal/text/safetext"
	"tare/internal/workload"
)

type failure struct {
	name   string
	exit   *testbed.ExitError
	stderr string
}

// Error returns the exit status and the last lines of standard error.
func (f *failure) Error() string {
	how := fmt.Sprintf("exit status %d", f.exit.Code)
	if f.exit.Signal != "" {
		how = "signal: " + f.exit.Signal
	}
	if stderr := lastLines(f.stderr); stderr != "" {
		how += ": " + stderr
	}
	return fmt.Sprintf("fio (%s): %s", f.name, how)
}

const (
	mostLines = 4
	mostSaid  = 600 // characters
)

// lastLines joins the last lines of a text to one line.
func lastLines(text string) string {
	if len(text) > 1<<16 {
		text = text[len(text)-1<<16:]
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	lines = lines[max(0, len(lines)-mostLines):]
	return safetext.Head(strings.Join(lines, "; "), mostSaid)
}

// remedies lists failures that every further trial would have too, so that they end the run. A failure is recognized
// by fio's message; the messages are the same since fio 3.0.
var remedies = []struct{ stderr, why, remedy string }{
	{"support O_DIRECT", "the volume refuses O_DIRECT",
		"direct: false measures it through the page cache, under metrics of other names"},
	{"No space left on device", "the volume is full", "lower size, or give a larger volume"},
	{"Permission denied", "fio may not write to the volume",
		workload.VolumeOwner},
	{"Read-only file system", "the volume is mounted read-only", ""},
	{"engines/io_uring.c", "the system refuses io_uring", "engine: libaio, or a seccomp profile that allows io_uring; gVisor has none"},
	{"io_queue_init", "the system has no room for more asynchronous I/O", "raise sysctl fs.aio-max-nr on the node, or lower ioDepth or jobs"},
	{"failed to load engine", "this fio lacks the engine", "another engine, or an image whose fio has it"},
}

// explain returns an error that ends Tare's run if the volume or the system causes fio's failure. Otherwise
// it returns a broken rule.
func explain(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	for _, r := range remedies {
		switch {
		case !strings.Contains(f.stderr, r.stderr):
		case r.remedy == "":
			return fmt.Errorf("%s: %w", r.why, err)
		default:
			return fmt.Errorf("%s: %w (%s)", r.why, err, r.remedy)
		}
	}
	return &workload.Invalid{Rule: workload.RuleExit, Detail: f.Error()}
}
