package secret

import (
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"unicode"
)

// known are secrets that are known by their own form.
var known = []struct {
	name string
	form *regexp.Regexp
	is   func(string) bool // nil: whatever it is
}{
	{"private key", regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|.*)`), nil},
	{"GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})`), nil},
	{"GitLab token", regexp.MustCompile(`\bgl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{16,}`), nil},
	{"AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), nil},
	{"Google API key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`), nil},
	{"Slack token", regexp.MustCompile(`\bxox[abposr]-[A-Za-z0-9-]{10,}`), nil},
	{"Stripe key", regexp.MustCompile(`\b[rs]k_(?:live|test)_[0-9A-Za-z]{16,}`), nil},
	{"Docker token", regexp.MustCompile(`\bdckr_pat_[A-Za-z0-9_-]{20,}`), nil},
	{"npm token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`), nil},
	{"Vault token", regexp.MustCompile(`\bhv[sbr]\.[A-Za-z0-9_-]{20,}`), nil},
	{"sk- key", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`), random}, // OpenAI's, Anthropic's and many others'
	{"JSON web token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), nil},
}

// leastRandom is the length from which a value can look random.
const leastRandom = 16

var onlyHex = regexp.MustCompile(`^[0-9a-fA-F]+$`)

// random says whether a text looks drawn by chance: long, of letters and digits, and with
// much information in each sign.
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

// entropy is the information in each sign of a text, in bits, by how often they occur.
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

// bearer says whether what stands after the word Bearer is a token, and no word of a
// sentence.
func bearer(text string) bool {
	return !stands(text) && strings.ContainsAny(text, "0123456789") && strings.IndexFunc(text, unicode.IsLetter) >= 0
}

// basic says whether what stands after the word Basic is a user with a password.
func basic(text string) bool {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if plain, err := encoding.DecodeString(text); err == nil {
			_, password, has := strings.Cut(string(plain), ":")
			return has && password != "" && strings.IndexFunc(string(plain), unicode.IsControl) < 0
		}
	}
	return false
}
