package secret

import (
	"regexp"
	"strings"
)

// shellWord matches a word of a shell, with its quotes, or a sign that ends a command. The text in $(…) and in
// `…` is a command, too.
var shellWord = regexp.MustCompile(`(?:[^\s;|&()<>'"\x60\\]|\\(?s:.)|"(?:[^"\\]|\\(?s:.))*"|'[^']*')+|[\n;|&()\x60]`)

// inCommands finds the secrets in the arguments of well-known programs in lines of a shell, also in lines that
// are an argument of another shell.
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
