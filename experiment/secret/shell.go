package secret

import "strings"

// word is one of a command of a shell, without the quotes around it.
type word struct {
	text  string
	start int
}

// commands cuts lines of a shell into commands and words. It knows quotes and what ends a
// command, and no more of the language: what is in $(…) and in `…` is a command, too.
func commands(text string) (all [][]word) {
	var line []word
	start, quote := -1, byte(0)
	endWord := func(i int) {
		if start < 0 {
			return
		}
		w := word{text[start:i], start}
		if n := len(w.text); n > 1 && (w.text[0] == '\'' || w.text[0] == '"') && strings.IndexByte(w.text[1:], w.text[0]) == n-2 {
			w = word{w.text[1 : n-1], start + 1}
		}
		line, start = append(line, w), -1
	}
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote != 0:
			if b == '\\' && quote == '"' {
				i++
			} else if b == quote {
				quote = 0
			}
			continue
		case b == ' ' || b == '\t' || b == '\r' || b == '\\' && i+1 < len(text) && text[i+1] == '\n':
			endWord(i)
			if b == '\\' {
				i++
			}
			continue
		case strings.IndexByte("\n;|&()`<>", b) >= 0:
			endWord(i)
			if b != '<' && b != '>' && len(line) > 0 {
				all, line = append(all, line), nil
			}
			continue
		}
		if start < 0 {
			start = i
		}
		switch b {
		case '\'', '"':
			quote = b
		case '\\':
			i++
		}
	}
	endWord(len(text))
	if len(line) > 0 {
		all = append(all, line)
	}
	return all
}

// inCommands finds what well-known programs are given in lines of a shell, also in those that
// are an argument of another.
func inCommands(text string, depth int) (all []Finding) {
	for _, line := range commands(text) {
		args := make([]string, len(line))
		for i, w := range line {
			args[i] = w.text
		}
		beside := Arguments(args)
		for i, w := range line {
			found := []Finding{}
			if f, is := beside[i]; is {
				found = append(found, f)
			} else if depth < nested && strings.ContainsAny(w.text, " \n") {
				found = inCommands(w.text, depth+1)
			}
			for _, f := range found {
				all = append(all, Finding{f.Name, w.start + f.Start, w.start + f.End})
			}
		}
	}
	return all
}
