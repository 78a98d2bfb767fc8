package cluster

import "strings"

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
