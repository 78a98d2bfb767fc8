package secret

import (
	_ "embed"
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
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

const leastRandom = 16 // the shortest length of a value that can look random

var onlyHex = regexp.MustCompile(`^[0-9a-fA-F]+$`)

// random reports whether a text looks random: long, of letters and digits, and with a high entropy.
func random(text string) bool {
	text = strings.Trim(text, `"'`)
	if len(text) < leastRandom || strings.IndexFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+/=_-%", r)
	}) >= 0 {
		return false
	}
	digits := strings.ContainsAny(text, "0123456789")
	letters := strings.IndexFunc(text, unicode.IsLetter) >= 0
	if !digits || !letters {
		return false
	}
	if onlyHex.MatchString(text) {
		return entropy(text) >= 2.8
	}
	return entropy(text) >= 3.5
}

// entropy returns the entropy of a text in bits per character, by the frequencies of its characters.
func entropy(text string) float64 {
	count := map[rune]float64{}
	for _, r := range text {
		count[r]++
	}
	bits, all := 0.0, float64(len([]rune(text)))
	for _, n := range count {
		bits -= n / all * math.Log2(n/all)
	}
	return bits
}

// bearer reports whether the text after the word Bearer is a token, and not a word of a sentence.
func bearer(text string) bool {
	return !stands(text) && strings.ContainsAny(text, "0123456789") && strings.IndexFunc(text, unicode.IsLetter) >= 0
}

// basic reports whether the text after the word Basic is a user with a password.
func basic(text string) bool {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if plain, err := encoding.DecodeString(text); err == nil {
			_, password, has := strings.Cut(string(plain), ":")
			return has && password != "" && strings.IndexFunc(string(plain), unicode.IsControl) < 0
		}
	}
	return false
}
