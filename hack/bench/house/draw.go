package main

import (
	"fmt"
	"go/ast"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// The numbers of comments and sentences in a draw.
const (
	drawnComments  = 60
	drawnSentences = 40
)

// draw prints random comments of the code, each with the line of code behind it, and random sentences of the docs. A
// reader without any other context repeats each text in own words. The texts that need a second reading are counted.
func draw(w io.Writer, h *house, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0))
	var comments []string
	for _, p := range h.product {
		for _, file := range p.Syntax {
			comments = append(comments, commentsOf(p, file)...)
		}
	}
	pages, err := filepath.Glob(filepath.Join(h.dir, "docs", "*.md"))
	if err != nil {
		return err
	}
	var sentences []string
	for _, page := range append(pages, filepath.Join(h.dir, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for _, s := range sentencesOf(string(text)) {
			sentences = append(sentences, filepath.Base(page)+": "+s)
		}
	}
	for _, list := range []struct {
		what string
		of   []string
		n    int
	}{{"comment", comments, drawnComments}, {"sentence", sentences, drawnSentences}} {
		random.Shuffle(len(list.of), func(i, k int) { list.of[i], list.of[k] = list.of[k], list.of[i] })
		for i, text := range list.of[:min(list.n, len(list.of))] {
			fmt.Fprintf(w, "%s %d of %d\n%s\n\n", list.what, i+1, len(list.of), text)
		}
	}
	return nil
}

// commentsOf returns the comments of a file, each with the line of code behind it.
func commentsOf(p *packages.Package, file *ast.File) (list []string) {
	name := p.Fset.Position(file.Pos()).Filename
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	for _, group := range file.Comments {
		first, last := p.Fset.Position(group.Pos()), p.Fset.Position(group.End())
		if strings.HasPrefix(group.List[0].Text, "//go:") || len(group.Text()) < 30 {
			continue
		}
		code := lines[last.Line-1] // beside the code
		if last.Line < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[first.Line-1]), "//") {
			code = lines[last.Line]
		}
		list = append(list, strings.TrimSpace(group.Text())+"\n    "+strings.TrimSpace(code))
	}
	return list
}

var (
	fence = regexp.MustCompile("(?s)\n```.*?\n```")
	item  = regexp.MustCompile(`(?m)^\s*(?:[-*]|\d+\.) `)
	end   = regexp.MustCompile(`[.!?]\)?\s+`)
)

// sentencesOf returns the sentences of a page, each after its heading. Tables and code are left out.
func sentencesOf(text string) (list []string) {
	heading := ""
	for paragraph := range strings.SplitSeq(fence.ReplaceAllString(item.ReplaceAllString(text, "\n\n"), "\n"), "\n\n") {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		if strings.HasPrefix(paragraph, "#") {
			heading = strings.TrimLeft(paragraph, "# ")
			continue
		}
		if strings.HasPrefix(paragraph, "|") || strings.HasPrefix(paragraph, "<") {
			continue
		}
		for paragraph != "" {
			s := paragraph
			for _, at := range end.FindAllStringIndex(paragraph, -1) { // "e.g. this" and "v1. of" do not end a sentence
				if next := paragraph[at[1]:]; next == "" || strings.ContainsAny(next[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ`[*") {
					s = paragraph[:at[1]]
					break
				}
			}
			paragraph = strings.TrimSpace(paragraph[len(s):])
			if len(s) >= 30 {
				list = append(list, "("+heading+") "+strings.TrimSpace(s))
			}
		}
	}
	return list
}
