package secret

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// known lists rules for secrets that are recognised by their own form. Most are rules of gitleaks. They are
// copied as data, since the module of gitleaks would bring some thirty other modules with it. The rules of
// gitleaks that look for words near a random text are left out. Such rules have many false alarms, which a
// person should review, while here a finding ends a run. Secrets with a name are recognised in names.go.
//
//go:embed tokens.txt
var known string

// tokens finds the secrets that are recognised by their form.
func tokens(text string) (all []Finding) {
	small := strings.ToLower(text)
	for line := range strings.Lines(known) {
		rule := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // name, keywords, entropy, pattern
		if len(rule) != 4 || !slices.ContainsFunc(strings.Split(rule[1], ","), func(word string) bool { return strings.Contains(small, word) }) {
			continue
		}
		least, _ := strconv.ParseFloat(rule[2], 64) // tests read all of these numbers
		for _, m := range regexp.MustCompile(rule[3]).FindAllStringSubmatchIndex(text, -1) {
			if m = append(m, m[:2]...); m[2] >= 0 && entropy(text[m[2]:m[3]]) >= least { // the first group, or the whole match
				all = append(all, Finding{rule[0], m[2], m[3]})
			}
		}
	}
	return all
}
