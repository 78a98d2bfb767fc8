package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tare/internal/report/columns"
	"tare/internal/run/journal"
	"tare/internal/run/runner"
	"tare/internal/workload"
)

// endedBy describes in a few words why a run ended early.
func endedBy(ctx context.Context, err error) string {
	var hopeless *runner.NoDataError
	var dropped *runner.DroppedError
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case errors.As(err, &dropped):
		return "it could not be measured on: " + firstLine(dropped.Err)
	case errors.As(err, &hopeless) && hopeless.Environment():
		return "the machine was too busy for the rest (" + hopeless.Last.Detail + ")"
	}
	return "ended by an error: " + firstLine(err)
}

// longestReason is the largest length, in bytes, of an error in the first line of a report.
const longestReason = 200

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return columns.Shorten(text, longestReason, "…")
}

// withNextStep adds the next command to the error that ended a run.
func withNextStep(ctx context.Context, j *journal.Journal, err error) error {
	var hopeless *runner.NoDataError
	var dropped *runner.DroppedError
	hint := ""
	switch {
	case errors.As(err, &dropped):
		hint = "tare resume " + j.Dir() + " tries again; the arms that are left out there get as many rounds as the others have, beside all of them"
	case errors.As(err, &hopeless) && hopeless.Environment():
		hint = whenBusy(hopeless, j.Dir())
	case errors.As(err, &hopeless) && hopeless.CPULimit():
		hint = "a CPU limit held programs up: give the pods more (testbed.kubernetes.resources.cpu), or a container that the cluster puts beside the programs, and begin a new run; the trials and their raw output are in " + j.Dir()
	case errors.As(err, &hopeless) && hopeless.Failed:
		hint = "what the program printed is in " + j.Dir() + "/raw; when it works without the layers, begin a new run, or go on by tare resume " + j.Dir()
	case errors.As(err, &hopeless):
		hint = "tare doctor says what works here; the trials and their raw output are in " + j.Dir()
	case ctx.Err() != nil:
		return &codedError{err: fmt.Errorf("interrupted; recorded and safe: %s", counted(len(j.Trials()), "trial")), code: exitInterrupted, hint: "tare resume " + j.Dir() + " goes on"}
	default:
		return hinted(err, "recorded and safe: %s; tare resume %s goes on", counted(len(j.Trials()), "trial"), j.Dir())
	}
	return &codedError{err: err, code: ExitInvalid, hint: hint}
}

// whenBusy returns the advice for a machine that was too busy to measure on.
func whenBusy(e *runner.NoDataError, dir string) string {
	hint := "the machine is too busy to measure on: end what is named here or let it end, and tare resume " + dir + " goes on"
	if e.Last.Rule == workload.RuleLate {
		hint += "; limits: {late: none} in a new run lets the load generator be late, and latencies hold what that adds"
	}
	if e.Sliceable {
		hint += "; on a machine that is never quiet, a new run with design: {slices: auto} and limits: {foreignCPU: none} has the arms take turns under the same load, and its control shows how much that disturbs"
	}
	return hint
}
