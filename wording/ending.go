package wording

import (
	"fmt"
	"strings"

	"tare/analysis"
)

// Ending states how many rounds of a run exist, why the rest are missing, and which command adds them: "9
// of 10 rounds; the machine was too busy for the rest; tare resume runs/night adds them"; "" if none are
// missing.
func Ending(r *analysis.Run) string {
	e := r.Ending
	if e == nil {
		return ""
	}
	parts := []string{fmt.Sprintf("%d of %s", e.Rounds, Count(e.Of, "round", "rounds"))}
	if e.Arm != "" {
		parts[0] += " without " + e.Arm
	}
	if e.Why != "" {
		parts = append(parts, e.Why)
	}
	resume := "tare resume " + r.Directory + " continues it"
	switch {
	case e.Judged:
		resume = "tare resume " + r.Directory + " adds the rest, as a second look"
	case e.Arm == "":
		parts = append(parts, "no verdict before the rest is done")
	}
	return strings.Join(append(parts, resume), "; ")
}
