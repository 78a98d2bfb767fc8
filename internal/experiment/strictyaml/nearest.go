package strictyaml

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the candidate that a misspelt word most likely means, or "". Upper and lower case, dashes and
// underscores are no differences.
func Nearest(word string, candidates []string) string {
	best, least := "", 0.0
	folded := fold(word)
	if len(folded) > 64 {
		return ""
	}
	for _, c := range candidates {
		f := fold(c)
		d := distance([]rune(folded), []rune(f))
		// A short word may have one mistake, and longer words may have more. A word with as many mistakes as
		// letters is another word.
		if d > 1+len(f)/4 || d >= len(f) {
			if !extends(f, folded) {
				continue
			}
			d = 1 + len(f)/4
		}
		if share := float64(d) / float64(len(f)); best == "" || share < least {
			best, least = c, share
		}
	}
	return best
}

// Suggest returns the hint for an unknown word: the nearest candidate, and all candidates.
func Suggest(word string, what string, candidates []string) string {
	return suggest(word, what, candidates, func(string) bool { return true })
}

// suggest is Suggest if only some candidates may be suggested as the nearest.
func suggest(word string, what string, candidates []string, may func(string) bool) string {
	all := fmt.Sprintf("%s: %s", what, strings.Join(candidates, ", "))
	if len(candidates) == 0 {
		all = what + ": none"
	}
	if near := Nearest(word, candidates); near != "" && near != word && may(near) {
		return fmt.Sprintf("did you mean %s? %s", near, all)
	}
	return all
}

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// extends reports whether one of two words of at least three letters begins with the other, as with
// abbreviations and plurals.
func extends(a, b string) bool {
	return len(a) >= 3 && len(b) >= 3 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal
// string alignment).
func distance(a, b []rune) int {
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = slices.Min([]int{above[j] + 1, row[j-1] + 1, above[j-1] + change})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
