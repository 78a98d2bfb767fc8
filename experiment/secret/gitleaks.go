package secret

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The tokens of many services are known by gitleaks' rules, which are taken as data: its
// module would bring some thirty others with it. Its rules that go by words near a random
// text are left out: they are for finding, with many false alarms, what somebody then looks
// through, and here a find ends a run; what names a secret is known by names.go.
//
//go:embed gitleaks.txt
var gitleaks string

// rule is a line of that file.
type rule struct {
	name     string
	keywords []string // in small letters
	entropy  float64
	form     func() *regexp.Regexp
}

var rules = sync.OnceValue(func() (all []rule) {
	for line := range strings.Lines(gitleaks) {
		if part := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(part) == 4 {
			entropy, _ := strconv.ParseFloat(part[2], 64)
			all = append(all, rule{part[0], strings.Split(part[1], ","), entropy, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(part[3]) })})
		}
	}
	return all
})

// tokens finds what the rules know.
func tokens(text string) (all []Finding) {
	small := strings.ToLower(text)
	for _, r := range rules() {
		for _, word := range r.keywords {
			if !strings.Contains(small, word) {
				continue
			}
			for _, m := range r.form().FindAllStringSubmatchIndex(text, -1) {
				start, end := m[0], m[1]
				if len(m) > 2 && m[2] >= 0 { // without what stands beside it
					start, end = m[2], m[3]
				}
				if entropy(text[start:end]) >= r.entropy {
					all = append(all, Finding{r.name, start, end})
				}
			}
			break
		}
	}
	return all
}
