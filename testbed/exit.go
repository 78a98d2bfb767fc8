package testbed

import (
	"fmt"
	"strings"
)

// Error gives the command as it can be pasted into a shell, how it ended, and
// the last of its standard error.
func (e *ExitError) Error() string {
	how := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		how = "signal: " + e.Signal
	}
	text := fmt.Sprintf("%s: %s", Quote(e.Args), how)
	if s := strings.TrimSpace(e.Stderr); s != "" {
		text += ": " + s
	}
	return text
}

// Quote writes arguments so that a shell reads them back as they are.
func Quote(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?[]#~=%!{}\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}
