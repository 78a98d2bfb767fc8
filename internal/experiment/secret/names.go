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

// class is a class of values that a name suggests.
type class int

const (
	nothing  class = iota
	possibly       // KEY or AUTH: the value is a secret if it looks random
	address        // DATABASE_URL: the value is a secret if it may contain a password
	secretly       // PASSWORD or TOKEN: the value is always a secret
)

// These words, in the name of a variable or field, tell whether its value is a secret. Names are compared in capitals,
// without digits at a word's end.
var (
	secretWords = words(`PASSWORD PASSWD PASSPHRASE PASSCODE PASS SECRET TOKEN BEARER APIKEY CREDENTIAL CREDENTIALS
		COOKIE JWT AUTHORIZATION REQUIREPASS MASTERAUTH KEYPASS STOREPASS USERPASS`)
	// secretEnds may be whole words of a name, or only the end of a word: PGPASSWORD, AUTHTOKEN, CLIENTSECRET.
	secretEnds    = []string{"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "APIKEY"}
	secretKeys    = words(`API ACCESS SECRET PRIVATE SIGNING ENCRYPTION MASTER ACCOUNT AUTH SHARED`) // words that form a secret's name together with KEY: API KEY
	possibleWords = words(`KEY KEYS AUTH SESSION SIGNATURE SIG CREDS SALT SAS`)
	addressWords  = words(`DSN DATABASE_URL DATABASE_URI DB_URL DB_URI CONNECTION_STRING CONN_STR MONGO_URL MONGO_URI REDIS_URL AMQP_URL`)
	// aboutWords are words at the end of a name. A name such as PASSWORD_FILE or TOKEN_TTL belongs to a secret's
	// property, which is no secret.
	aboutWords = words(`FILE FILES PATH DIR NAME NAMES SIZE BITS BYTES LENGTH LEN COUNT TYPE TTL URL URI ENDPOINT HOST PORT
		TIMEOUT EXPIRY EXPIRATION POLICY FORMAT PATTERN REGEX PREFIX SUFFIX ALGORITHM ALG MODE REF REFERENCE STORE PROVIDER
		ISSUER AUDIENCE SCOPE LIMIT RATE BUCKET ENABLED DISABLED REQUIRED SOCK SOCKET COMMAND CMD PROMPT ROTATION AGE FIELD
		HEADER KIND CLASS METHOD SPACE RANGE MIN MAX MINIMUM MAXIMUM DISTRIBUTION STDIN VERSION OWNER GROUP REVIEW REVIEWS`)
)

// amountWords are first words of names that hold an amount and no secret, such as MAX_TOKEN.
var amountWords = words(`MAX MIN NUM NUMBER N`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// Named reports whether a variable, option or field of this name may hold a secret. PWD and OLDPWD may not: they hold
// directories.
func Named(name string) bool { return classOf(name) != nothing }

func classOf(name string) class {
	list := split(name)
	if len(list) == 0 {
		return nothing
	}
	last := len(list) - 1
	if addressWords[list[last]] || last > 0 && addressWords[list[last-1]+"_"+list[last]] {
		return address
	}
	if aboutWords[list[last]] || amountWords[list[0]] {
		return nothing
	}
	best := nothing
	for i, w := range list {
		ends := slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(w, end) })
		switch {
		case secretWords[w], ends,
			w == "PAT" && i == last && i > 0, w == "PWD" && i > 0,
			w == "KEY" && i > 0 && secretKeys[list[i-1]]:
			return secretly
		case possibleWords[w]:
			best = possibly
		}
	}
	return best
}

// split returns the words of a name, in capitals and without digits at their ends: DB and PASSWORD for dbPassword2 and
// --db-password.
func split(name string) []string {
	var list []string
	var word []rune
	end := func() {
		if w := strings.TrimRight(strings.ToUpper(string(word)), "0123456789"); w != "" {
			list = append(list, w)
		}
		word = word[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]),
			unicode.IsUpper(r) && len(word) > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// holds reports whether a value is a secret. c is the class of the value's name, such as PASSWORD.
func (c class) holds(value string) bool {
	switch c {
	case secretly:
		return !stands(value) && !amount.MatchString(value)
	case address:
		return !stands(value) && !withoutCredentials.MatchString(value)
	case possibly:
		return !stands(value) && random(value)
	}
	return false
}

// amount matches a number that is no secret: --pass=2.
var amount = regexp.MustCompile(`^[0-9]{1,2}$`)

// withoutCredentials matches a URL without a password, or a database driver's list of keywords (key=value).
var withoutCredentials = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:[^@]*$|^[A-Za-z][A-Za-z0-9+.-]*://[^@:/]*@[^@]*$|^([a-z]+=\S* ?)+$`)

// standIn and standInForm are words and patterns of texts that stand in a secret's place but are no secrets, such as
// "none" and "<password>".
var (
	standIn     = words(`true false yes no on off none null nil always never auto default required optional enabled disabled basic bearer digest negotiate redacted masked any all ask prompt stdin env`)
	standInForm = regexp.MustCompile("^(" + strings.Join([]string{
		`[*.…-]+|[xX]{2,}`,          // ***
		`<[^>]*>?`, `\{\{.*`, `%.*`, // <password>, {{.Password}}, %s
		`[$` + "`" + `].*`, `.*\$[A-Za-z_({].*`, // $NAME and text around it
		`[(\[\\^{|>&].*`, `\.\*.*`, `=.*`, // a regular expression, a structure, a comparison
		`@.*`, `-`, `(file:|fd:|env:|pass:\$).*`, // the place where a program should look for the secret
		`\.{0,2}/([A-Za-z0-9._@-]+/)*[A-Za-z0-9._@-]*`, `~/.*`, // a path
		`[A-Za-z0-9._/-]+\.(pem|key|crt|cer|json|ya?ml|txt|env|conf|p12|jks)`,
		`\[masked: [^\]]*\]`,
	}, "|") + ")$")
)

// stands reports whether a value is a stand-in for a secret, or the path or variable that holds the secret.
func stands(value string) bool {
	value = strings.TrimSpace(strings.Trim(strings.TrimSpace(value), `"'`))
	return value == "" || standIn[strings.ToLower(value)] || standInForm.MatchString(value)
}

// known lists rules for secrets that are recognised by their own form. Most are rules of gitleaks. They are copied as
// data, since the module of gitleaks needs some thirty other modules. The rules that look for words near a random text
// are left out. Their many false alarms need a person's review, while here a finding ends a run. Secrets with a telling
// name are recognised by classOf.
//
//go:embed tokens.txt
var known string

// tokens finds the secrets in a text that the rules in known recognise.
func tokens(text string) (all []Finding) {
	small := strings.ToLower(text)
	for line := range strings.Lines(known) {
		rule := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // fields: name, keywords, entropy, pattern
		if len(rule) != 4 || !slices.ContainsFunc(strings.Split(rule[1], ","), func(word string) bool { return strings.Contains(small, word) }) {
			continue
		}
		least, _ := strconv.ParseFloat(rule[2], 64) // a test checks that every entropy is a number
		for _, m := range regexp.MustCompile(rule[3]).FindAllStringSubmatchIndex(text, -1) {
			if m = append(m, m[:2]...); m[2] >= 0 && entropy(text[m[2]:m[3]]) >= least { // the secret is the first group, or without a group the whole match
				all = append(all, Finding{rule[0], m[2], m[3]})
			}
		}
	}
	return all
}

const leastRandom = 16 // a shorter value never counts as random

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
