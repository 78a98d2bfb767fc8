package secret

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// class is what the name of a value says of it.
type class int

const (
	nothing  class = iota
	possibly       // KEY, AUTH: a secret where the value looks random
	address        // DATABASE_URL: a secret where the value may hold a password
	secretly       // PASSWORD, TOKEN: a secret whatever it is
)

// Words of names, in capitals and without digits at the end.
var (
	secretWords = words(`PASSWORD PASSWD PASSPHRASE PASSCODE PASS SECRET TOKEN BEARER APIKEY CREDENTIAL CREDENTIALS
		COOKIE JWT AUTHORIZATION REQUIREPASS MASTERAUTH KEYPASS STOREPASS USERPASS`)
	// secretEnds are also ends of words: PGPASSWORD, AUTHTOKEN, CLIENTSECRET.
	secretEnds    = []string{"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "APIKEY"}
	secretKeys    = words(`API ACCESS SECRET PRIVATE SIGNING ENCRYPTION MASTER ACCOUNT AUTH SHARED`) // before KEY
	possibleWords = words(`KEY KEYS AUTH SESSION SIGNATURE SIG CREDS SALT SAS`)
	addressWords  = words(`DSN DATABASE_URL DATABASE_URI DB_URL DB_URI CONNECTION_STRING CONN_STR MONGO_URL MONGO_URI REDIS_URL AMQP_URL`)
	// aboutWords end the names of what is about a secret: PASSWORD_FILE, TOKEN_TTL.
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

// Named says whether a value of this name may be a secret: a variable, an option, a
// field. PWD and OLDPWD are directories.
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

// split gives the words of a name, in capitals: dbPassword2, DB_PASSWORD and
// --db-password are DB and PASSWORD.
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

// holds says whether a value of a class is a secret.
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

// amount is a number that is no secret: --pass=2.
var amount = regexp.MustCompile(`^[0-9]{1,2}$`)

// withoutCredentials is a URL, or the keywords of a driver, in which no password stands.
// One that has a user and a password is found by itself.
var withoutCredentials = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:[^@]*$|^[A-Za-z][A-Za-z0-9+.-]*://[^@:/]*@[^@]*$|^([a-z]+=\S* ?)+$`)

// stand-ins are what stands where a secret would: words, and forms.
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

// stands says whether a value only stands for one, or says where it is.
func stands(value string) bool {
	value = strings.TrimSpace(strings.Trim(strings.TrimSpace(value), `"'`))
	return value == "" || standIn[strings.ToLower(value)] || standInForm.MatchString(value)
}
