package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const block = 8 // the number of lines of a repeated block

// repeated lists pairs of places with equal blocks of lines. Blank lines, comments, imports and indentation are ignored. A
// longer sequence of equal lines counts once.
func (h *house) repeated() (pairs []string, err error) {
	seen := map[string]string{}
	last := map[string]int{} // the end of the last block in the second file, by pair of files
	for _, p := range h.product {
		for _, name := range p.GoFiles {
			lines, numbers, err := bare(name)
			if err != nil {
				return nil, err
			}
			file, _ := filepath.Rel(h.dir, name)
			for i := 0; i+block <= len(lines); i++ {
				text := strings.Join(lines[i:i+block], "\n")
				here := fmt.Sprintf("%s:%d", file, numbers[i])
				before, ok := seen[text]
				if !ok {
					seen[text] = here
					continue
				}
				earlier, _, _ := strings.Cut(before, ":")
				pair := earlier + " " + file
				if end, ok := last[pair]; !ok || i > end {
					pairs = append(pairs, before+" = "+here)
				}
				last[pair] = i + 1
			}
		}
	}
	return pairs, nil
}

// bare returns the lines of code in a file, and their numbers.
func bare(name string) (lines []string, numbers []int, err error) {
	text, err := os.ReadFile(name)
	imports := false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		imports = imports && line != ")" || line == "import ("
		if imports || line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		lines, numbers = append(lines, line), append(numbers, i+1)
	}
	return lines, numbers, err
}
