package secret

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// known are secrets that are known by their own form. Most are rules of gitleaks, taken as
// data: its module would bring some thirty others with it. Its rules that go by words near a
// random text are left out: they have many false alarms, for somebody to look through, and
// here a find ends a run; what names a secret is known by names.go.
//
//go:embed tokens.txt
var known string

// tokens finds them.
func tokens(text string) (all []Finding) {
	small := strings.ToLower(text)
	for line := range strings.Lines(known) {
		rule := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // name, keywords, entropy, pattern
		if len(rule) != 4 || !slices.ContainsFunc(strings.Split(rule[1], ","), func(word string) bool { return strings.Contains(small, word) }) {
			continue
		}
		least, _ := strconv.ParseFloat(rule[2], 64) // tests read them all
		for _, m := range regexp.MustCompile(rule[3]).FindAllStringSubmatchIndex(text, -1) {
			if m = append(m, m[:2]...); m[2] >= 0 && entropy(text[m[2]:m[3]]) >= least { // the first group, or all
				all = append(all, Finding{rule[0], m[2], m[3]})
			}
		}
	}
	return all
}
