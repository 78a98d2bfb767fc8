package report

import (
	"tare/report/columns"
	"tare/safetext"
)

// plain makes one line of safe text from any string. The result still has to be
// escaped for its format.
func plain(s string) string { return safetext.Line(s) }

// brief is plain for texts that may be of any length, such as what a tool wrote:
// the middle of a very long one is left out.
func brief(s string) string { return columns.Shorten(plain(s), 600, " … ") }
