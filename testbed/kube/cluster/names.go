package cluster

import (
	"fmt"
	"strings"
	"unicode"
)

// NameLimit is the length of a DNS label, which most names must be.
const NameLimit = 63

// Label turns a text into a DNS label, which is also valid as the value of a
// label: lower-case letters, digits and single dashes inside.
func Label(text string, limit int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && s[len(s)-1] != '-' {
			b.WriteByte('-')
		}
		if b.Len() == limit {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// Printable makes a text from the cluster fit for a terminal and an error: on one
// line, without control characters, not longer than limit.
func Printable(text string, limit int) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(text) {
		if b.Len() >= limit {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n', r == '\r', r == '\t':
			b.WriteByte(' ')
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
