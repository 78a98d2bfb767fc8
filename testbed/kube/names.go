package kube

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
)

// newOwner draws the name of a run in the cluster.
func newOwner() string {
	var b [5]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// nameLimit is the length of a DNS label, which most names must be.
const nameLimit = 63

// siteName is the name of a site's namespace: unique by the number, valid
// whatever the arm is called, and telling.
func siteName(owner string, number int, arm string) string {
	return label(fmt.Sprintf("tare-%s-%d-%s", owner, number, arm), nameLimit)
}

// label turns a text into a DNS label, which is also valid as the value of a
// label: lower-case letters, digits and single dashes inside.
func label(text string, limit int) string {
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

// printable makes a text from the cluster fit for a terminal and an error: on one
// line, without control characters, not longer than limit.
func printable(text string, limit int) string {
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
