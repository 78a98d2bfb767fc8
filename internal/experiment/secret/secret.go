// Package secret finds secrets in a text: passwords, tokens, private keys. A run keeps the file of its experiment,
// which therefore must not contain a secret.
//
// A secret is recognised by its name (--password=…, TOKEN=…, a header, a field), by its place in a URL, or by its form
// (a PEM block, the tokens of well-known services). An ambiguous name such as KEY counts if the value looks random. A
// reference ($NAME, $(file:…), <password>, a path) is no secret.
//
// The package catches mistakes only: it cannot recognise a secret that looks like any other word.
package secret

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Finding is a secret in a text.
type Finding struct {
	// Name identifies the secret and reveals no part of its value: "--password", "Authorization",
	// "https://user@host", "private key".
	Name       string
	Start, End int // the position of the secret, in bytes
}

// Kind is the kind of a text. It determines which forms of secrets are searched in the text.
type Kind int

// The kinds.
const (
	Prose    Kind = iota // a sentence; forms of a secret that occur in sentences by chance are not searched
	Argument             // the argument of a program, or the value of a field
	Code                 // the lines of a shell script, a manifest or a similar text
)

// form is a pattern that matches a secret together with its name, such as --password=….
type form struct {
	least   Kind // the form is searched in this Kind of text and in all later Kinds
	pattern *regexp.Regexp
	// name and value are group numbers of the pattern, for the secret's name and the secret itself. If name is 0, the
	// field label holds the name.
	name, value int
	label       string
	accepts     func(string) bool // reports whether a matched value is a secret; nil: the name's class decides (class.holds)
}

const (
	aName   = `[A-Za-z_][A-Za-z0-9_.-]*`
	aValue  = `("[^"\n]*"|'[^'\n]*'|[^\s"'&;,|)}\]]+)`
	letters = `[A-Za-z0-9._~+/-]`

	authorization = `(?i)\b((?:proxy-)?authorization)["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest|apikey|negotiate)\s+)?([^\s"',;]+)`
)

func real(value string) bool { return !stands(value) }

var forms = []form{
	{pattern: regexp.MustCompile(authorization), name: 1, value: 2, accepts: bearer},
	{least: Argument, pattern: regexp.MustCompile(authorization), name: 1, value: 2, accepts: real},
	{pattern: regexp.MustCompile(`(?i)\bbearer\s+(` + letters + `{8,}=*)`), value: 1, label: "bearer token", accepts: bearer},
	{pattern: regexp.MustCompile(`(?i)\bbasic\s+(` + letters + `{6,}=*)`), value: 1, label: "basic authorization", accepts: basic},
	// --password=…, TOKEN=…, ?password=…, -Dstore.password=…
	{pattern: regexp.MustCompile(`(?:^|[^A-Za-z0-9_.-])(-{0,2}` + aName + `)=` + aValue), name: 1, value: 2},
	// "password": "…"
	{pattern: regexp.MustCompile(`["'](` + aName + `)["']\s*:\s*["']([^"'\n]+)["']`), name: 1, value: 2},
	// X-Api-Key: …
	{least: Argument, pattern: regexp.MustCompile(`^(` + aName + `):\s*(\S.*)$`), name: 1, value: 2},
	// --password …
	{least: Code, pattern: regexp.MustCompile(`(?:^|\s)(--` + aName + `)[ \t]+("[^"\n]*"|'[^'\n]*'|[^\s"'&;,|)}\]-][^\s"'&;,|)}\]]*)`), name: 1, value: 2},
	// password: …, {password: …}, and -H 'X-Api-Key: …'
	{least: Code, pattern: regexp.MustCompile(`(?m)^[ \t]*(?:- +)?["']?(` + aName + `)["']?:[ \t]+([^\s#].*?)[ \t]*(?:[ \t]#.*)?$`), name: 1, value: 2},
	{least: Code, pattern: regexp.MustCompile(`[{,"'][ \t]*(` + aName + `):[ \t]+` + aValue), name: 1, value: 2},
	// A container's environment has a variable as the key name, such as name: PASSWORD, followed by the key value.
	{least: Code, pattern: regexp.MustCompile(`\bname:[ \t]*["']?(` + aName + `)["']?[ \t]*(?:,|\r?\n)\s*["']?value["']?:[ \t]*("[^"\n]*"|'[^'\n]*'|[^\s,}]+)`), name: 1, value: 2},
}

var isAuthorization = regexp.MustCompile(`(?i)^(?:proxy-)?authorization$`)

// inURL matches a user with a password in a URL.
var inURL = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/?#:@"']*):([^\s/?#"']+)@([^\s/?#@"'\\]*)`)

// Find finds the secrets in a text, in the order of their positions.
func Find(text string, kind Kind) []Finding {
	all := tokens(text)
	if kind == Code {
		all = append(all, inCommands(text, 1)...)
	}
	for _, m := range inURL.FindAllStringSubmatchIndex(text, -1) {
		if real(text[m[6]:m[7]]) {
			all = append(all, Finding{text[m[2]:m[3]] + text[m[4]:m[5]] + "@" + text[m[8]:m[9]], m[6], m[7]})
		}
	}
	for _, f := range forms {
		if kind >= f.least {
			all = append(all, f.in(text, 1)...)
		}
	}
	return outermost(all)
}

// nested is how many levels of values within values are searched: --set=password=… holds a value, and an argument may
// hold a shell's commands.
const nested = 3

func (f form) in(text string, depth int) []Finding {
	var all []Finding
	for _, m := range f.pattern.FindAllStringSubmatchIndex(text, -1) {
		start, end := m[2*f.value], m[2*f.value+1]
		name, value := f.label, text[start:end]
		if f.name > 0 {
			name = text[m[2*f.name]:m[2*f.name+1]]
		}
		accepts := f.accepts
		if accepts == nil { // a header Authorization is left to another form, which spares the word Bearer
			accepts = func(value string) bool { return !isAuthorization.MatchString(name) && classOf(name).holds(value) }
		}
		if !accepts(value) {
			if depth < nested {
				for _, found := range f.in(value, depth+1) {
					all = append(all, Finding{found.Name, start + found.Start, start + found.End})
				}
			}
			continue
		}
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			start, end = start+1, end-1
		}
		all = append(all, Finding{name, start, end})
	}
	return all
}

// outermost sorts findings and leaves out findings that lie within others.
func outermost(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	var out []Finding
	for _, f := range all {
		if n := len(out); n == 0 || f.Start >= out[n-1].End {
			out = append(out, f)
		}
	}
	return out
}

// Value finds the secrets in the value of a variable or field with this name.
func Value(name, value string, kind Kind) []Finding {
	if classOf(name).holds(value) {
		return []Finding{{name, 0, len(value)}}
	}
	return Find(value, kind)
}

// given lists, by program, the options that take a secret. The secret is a part of the option's argument (-pSECRET), or
// the next argument.
var given = map[string][]string{
	"mysql": {"-p"}, "mysqladmin": {"-p"}, "mysqldump": {"-p"}, "mysqlslap": {"-p"}, "mariadb": {"-p"}, "mariadb-slap": {"-p"},
	"sshpass": {"-p"}, "redis-cli": {"-a"}, "redis-benchmark": {"-a"}, "valkey-cli": {"-a"}, "valkey-benchmark": {"-a"},
	"memtier_benchmark": {"-a"}, "ldapsearch": {"-w"}, "cqlsh": {"-p"}, "mongosh": {"-p"}, "mongodump": {"-p"}, "mongorestore": {"-p"},
	"mosquitto_pub": {"-P"}, "mosquitto_sub": {"-P"}, "sqlcmd": {"-P"}, "openssl": {"-passin", "-passout", "-pass"},
	"curl": {"-u", "--user", "-U", "--proxy-user"}, "ab": {"-A", "-P"}, "hey": {"-a"}, "http": {"-a"}, "xh": {"-a"},
	login: {"-p"},
}

const login = "login" // a subcommand of container and cloud tools; -p takes a password only there

var loginOf = words(`docker podman nerdctl buildah skopeo helm oras crane regctl oc az`)

// others lists programs whose options take no secret, and that a program with a secret may start: sshpass starts ssh.
var others = words(`ssh scp sftp rsync`)

// attachedOnly lists programs that take a password only attached to its option (-pSECRET). A lone option makes the
// program prompt for the password.
var attachedOnly = words(`mysql mysqladmin mysqldump mysqlslap mariadb mariadb-slap`)

// Arguments finds the secrets in a program's command line, by the index of the argument. It knows options that name a
// secret (--password), and the secrets of well-known programs.
func Arguments(args []string) map[int]Finding {
	found := map[int]Finding{}
	program := ""
	for i, arg := range args {
		switch base := path.Base(arg); {
		case strings.Contains(arg, "://"):
			continue // a URL is skipped: the last part of its path is not the name of a program
		case base == login:
			if loginOf[program] {
				program = login
			}
			continue
		case given[base] != nil, loginOf[base], others[base]:
			program = base
			continue
		}
		if strings.HasPrefix(arg, "-") && len(arg) > 2 && !strings.Contains(arg, "=") && i+1 < len(args) &&
			!strings.HasPrefix(args[i+1], "-") && classOf(arg).holds(args[i+1]) {
			found[i+1] = Finding{arg, 0, len(args[i+1])}
		}
		for _, option := range given[program] {
			attached, is := strings.CutPrefix(arg, option)
			if program == "curl" && cluster.MatchString(arg) && strings.HasSuffix(arg, option[1:]) { // -sSu me:…
				attached, is = "", true
			}
			switch {
			case !is:
			case attached == "" && i+1 < len(args) && !attachedOnly[program]:
				if f, is := inOption(program, option, args[i+1]); is {
					found[i+1] = f
				}
			case attached != "" && (len(option) == 2 && attached[0] != '-' || attached[0] == '='):
				value := strings.TrimPrefix(attached, "=")
				if f, is := inOption(program, option, value); is {
					f.Start, f.End = f.Start+len(arg)-len(value), f.End+len(arg)-len(value)
					found[i] = f
				}
			}
		}
	}
	return found
}

// cluster matches several one-letter options in one argument, of which only the last has a value.
var cluster = regexp.MustCompile(`^-[a-zA-Z]{2,6}$`)

// inOption finds the secret in the value of an option. In a value USER:PASSWORD, the secret is the part after the
// colon.
func inOption(program, option, value string) (Finding, bool) {
	start := 0
	if user, _, has := strings.Cut(value, ":"); has {
		start = len(user) + 1
	} else if strings.ContainsAny(option, "uUA") || program == "hey" || program == "http" || program == "xh" {
		return Finding{}, false // a user without a password
	}
	return Finding{program + " " + option, start, len(value)}, real(value) && real(value[start:]) && start < len(value)
}

// shellWord matches a word of a shell with its quotes, or a sign that begins or ends a command, such as ; and $(…).
var shellWord = regexp.MustCompile(`(?:[^\s;|&()<>'"\x60\\]|\\(?s:.)|"(?:[^"\\]|\\(?s:.))*"|'[^']*')+|[\n;|&()\x60]`)

// inCommands finds secrets in lines of a shell: in the arguments of well-known programs, also in a shell within a
// shell.
func inCommands(text string, depth int) (all []Finding) {
	var args []string
	var starts []int
	end := func() {
		for i, f := range Arguments(args) {
			all = append(all, Finding{f.Name, starts[i] + f.Start, starts[i] + f.End})
		}
		args, starts = nil, nil
	}
	for _, m := range shellWord.FindAllStringIndex(text, -1) {
		word, start := text[m[0]:m[1]], m[0]
		if strings.ContainsAny(word[:1], "\n;|&()`") {
			end()
			continue
		}
		if n := len(word); n > 1 && strings.ContainsAny(word[:1], `'"`) && strings.IndexByte(word[1:], word[0]) == n-2 {
			word, start = word[1:n-1], start+1
		}
		args, starts = append(args, word), append(starts, start)
		if depth < nested && strings.ContainsAny(word, " \n") {
			for _, f := range inCommands(word, depth+1) {
				all = append(all, Finding{f.Name, start + f.Start, start + f.End})
			}
		}
	}
	end()
	return all
}
