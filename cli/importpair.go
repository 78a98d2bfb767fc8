package cli

import (
	"regexp"
	"slices"
	"strings"

	"tare/importer"
)

// ungrouped says of an expression to pair by that has no group, and is no
// misspelt name of a pairing, what is missing.
func ungrouped(err error, how string) error {
	if e, bad := regexp.Compile(how); bad != nil || e.NumSubexp() > 0 || regexp.QuoteMeta(how) == how {
		return err
	}
	return hintedUsage(err, "put the part that names the round in parentheses, as in 'round-([0-9]+)'")
}

// pairingError says how else to pair where the files were to be paired by the
// round that they tell, and none tells it.
func pairingError(err error, r *importer.Result, by importer.Pairing) error {
	const round = "round"
	other := func(p importer.Problem) bool { return !strings.Contains(p.Reason, "--pair-by "+round+" needs that") }
	if by.String() != round || r.Valid > 0 || len(r.Problems) == 0 || slices.ContainsFunc(r.Problems, other) {
		return err
	}
	return &importer.UsageError{
		Err:  err,
		Hint: "the files do not tell the round: pair by index, by name, or by an expression with what names the round in parentheses, as in 'round-([0-9]+)'",
	}
}
