package secret

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// class is the kind of value that a name suggests.
type class int

const (
	nothing  class = iota
	possibly       // KEY, AUTH: a secret if the value looks random
	address        // DATABASE_URL: a secret if the value may contain a password
	secretly       // PASSWORD, TOKEN: always a secret
)

// Words in names, in capitals and without digits at the end.
var (
	secretWords = words(`PASSWORD PASSWD PASSPHRASE PASSCODE PASS SECRET TOKEN BEARER APIKEY CREDENTIAL CREDENTIALS
		COOKIE JWT AUTHORIZATION REQUIREPASS MASTERAUTH KEYPASS STOREPASS USERPASS`)
	// secretEnds may also be ends of words: PGPASSWORD, AUTHTOKEN, CLIENTSECRET.
	secretEnds    = []string{"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "APIKEY"}
	secretKeys    = words(`API ACCESS SECRET PRIVATE SIGNING ENCRYPTION MASTER ACCOUNT AUTH SHARED`) // words before KEY
	possibleWords = words(`KEY KEYS AUTH SESSION SIGNATURE SIG CREDS SALT SAS`)
	addressWords  = words(`DSN DATABASE_URL DATABASE_URI DB_URL DB_URI CONNECTION_STRING CONN_STR MONGO_URL MONGO_URI REDIS_URL AMQP_URL`)
	// aboutWords end names of properties of a secret: PASSWORD_FILE, TOKEN_TTL.
	aboutWords = words(`FILE FILES PATH DIR NAME NAMES SIZE BITS BYTES LENGTH LEN COUNT TYPE TTL URL URI ENDPOINT HOST PORT
		TIMEOUT EXPIRY EXPIRATION POLICY FORMAT PATTERN REGEX PREFIX SUFFIX ALGORITHM ALG MODE REF REFERENCE STORE PROVIDER
		ISSUER AUDIENCE SCOPE LIMIT RATE BUCKET ENABLED DISABLED REQUIRED SOCK SOCKET COMMAND CMD PROMPT ROTATION AGE FIELD
		HEADER KIND CLASS METHOD SPACE RANGE MIN MAX MINIMUM MAXIMUM DISTRIBUTION STDIN VERSION OWNER GROUP REVIEW REVIEWS`)
)

// amountWords begin the names of amounts: MAX_TOKEN.
var amountWords = words(`MAX MIN NUM NUMBER N`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// Named reports whether a value of this name may be a secret: the name of a variable, an option or a field. PWD
// and OLDPWD are directories.
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

// split returns the words of a name, in capitals: dbPassword2, DB_PASSWORD and --db-password are DB and
// PASSWORD.
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

// holds reports whether a value of a class is a secret.
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

// withoutCredentials matches a URL, or the keywords of a driver, without a password. Another form detects a URL
// with a user and a password.
var withoutCredentials = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:[^@]*$|^[A-Za-z][A-Za-z0-9+.-]*://[^@:/]*@[^@]*$|^([a-z]+=\S* ?)+$`)

// Texts that stand in place of a secret: words, and patterns.
var (
	standIn     = words(`true false yes no on off none null nil always never auto default required optional enabled disabled basic bearer digest negotiate redacted masked any all ask prompt stdin env`)
	standInForm = regexp.MustCompile("^(" + strings.Join([]string{
		`[*.…-]+|[xX]{2,}`,          // ***
		`<[^>]*>?`, `\{\{.*`, `%.*`, // <password>, {{.Password}}, %s
		`[$` + "`" + `].*`, `.*\$[A-Za-z_({].*`, // $NAME and text around it
		`[(\[\\^{|>&].*`, `\.\*.*`, `=.*`, // a regular expression, a structure, a comparison
		`@.*`, `-`, `(file:|fd:|env:|pass:\$).*`, // where a program is to look
		`\.{0,2}/([A-Za-z0-9._@-]+/)*[A-Za-z0-9._@-]*`, `~/.*`, // a path
		`[A-Za-z0-9._/-]+\.(pem|key|crt|cer|json|ya?ml|txt|env|conf|p12|jks)`,
		`\[masked: [^\]]*\]`,
	}, "|") + ")$")
)

// stands reports whether a value only represents a secret, or names the secret's place.
func stands(value string) bool {
	value = strings.TrimSpace(strings.Trim(strings.TrimSpace(value), `"'`))
	return value == "" || standIn[strings.ToLower(value)] || standInForm.MatchString(value)
}
