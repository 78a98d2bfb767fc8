package importer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/importer"
)

// words is a second format for tests: a file of lines "word:CELL=VALUE".
var words = importer.Format{Name: "words", Doc: "words", Extensions: []string{".word"}, Read: func(f importer.File) ([]importer.Trial, error) {
	text, err := importer.ReadAll(f)
	if err != nil {
		return nil, err
	}
	var trials []importer.Trial
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), "=")
		cell, ok := strings.CutPrefix(name, "word:")
		value, err := importer.Number(number)
		if !ok || err != nil {
			return nil, fmt.Errorf("no word in %q", line)
		}
		t := importer.Trial{Kind: "test", Cell: cell}
		t.Add(importer.Ratio("length-mean", "", "lower", true), value)
		trials = append(trials, t)
	}
	return trials, nil
}}

// auto makes the import find the format of each file.
func auto(o *importer.Options) {
	o.Format, o.Known = importer.Format{Name: importer.Auto}, []importer.Format{lines, words}
}

// known gives the import the list of all formats, for the hint after a mistaken format.
func known(o *importer.Options) { o.Known = []importer.Format{lines, words} }

// The format of a file is found by its content.
func TestAuto(t *testing.T) {
	for name, i := range map[string]importing{
		"one format": {files: map[string]string{"a/1.txt": "x s-mean 1\n", "b/1.txt": "x s-mean 2\n"}, arms: []string{"a=a", "b=b"}, options: auto,
			trials: "1 a x s-mean=1\n1 b x s-mean=2"},
		"two formats": {files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.log": "word:y=3\n"}, arms: []string{"a=a"}, options: auto,
			trials: "1 a x s-mean=1\n2 a y length-mean=3"},
		"what is no result is passed over, what is called like one is broken": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/notes.md": "hello\n", "a/torn.txt": "x\n"}, arms: []string{"a=a"}, options: auto,
			trials: "1 a x s-mean=1\n2 a x import!",
			notes:  []string{"1 file passed over that no format reads; the first is a/notes.md"}},
		"a file that is named is broken whatever it is called": {
			files: map[string]string{"1.txt": "x s-mean 1\n", "notes.md": "hello\n"}, arms: []string{"1.txt", "notes.md"}, options: auto,
			trials: "1 imported x s-mean=1\n2 imported x import!"},
		"nothing is a result": {files: map[string]string{"a/1.txt": "?\n", "a/2.txt": "?\n"}, arms: []string{"a=a"}, options: auto,
			err: "no format finds a result in any of 2 files; the first is"},
		"another tool's": {files: map[string]string{"1.txt": "word:y=3\n"}, arms: []string{"1.txt"}, options: known,
			err: "no valid trial in 1 file"},
		"some are another tool's": {files: map[string]string{"1.txt": "word:y=3\n", "2.txt": "x s-mean 1\n"}, arms: []string{"1.txt", "2.txt"}, options: known,
			trials: "1 imported x s-mean=1\n2 imported x import!"},
	} {
		t.Run(name, i.run)
	}
}

// The hint names the format that can read files of another tool.
func TestAnotherTools(t *testing.T) {
	dir := write(t, map[string]string{"1.txt": "word:y=3\n"})
	o := importer.Options{Format: lines, Name: "test", Sources: []importer.Source{{From: []string{filepath.Join(dir, "1.txt")}}}}
	known(&o)
	_, err := importer.Run(context.Background(), filepath.Join(t.TempDir(), "run"), o)
	var data *importer.DataError
	if !errors.As(err, &data) || !strings.HasSuffix(data.Hint, "1.txt is a file of words: tare import words") {
		t.Errorf("the error is %v, with the hint of %+v", err, data)
	}
}

// The format of standard input is found although it can be read only once.
func TestAutoStdin(t *testing.T) {
	o := importer.Options{Name: "test", Stdin: io.MultiReader(strings.NewReader("x s-me"), strings.NewReader("an 1\n")), Sources: []importer.Source{{From: []string{"-"}}}}
	auto(&o)
	if run := imported(t, o); len(run.Trials) != 1 || run.Plan.Import.Tool != "lines" {
		t.Errorf("%d trials of %s", len(run.Trials), run.Plan.Import.Tool)
	}
}

// Several directories are several arms or an error, and never one arm.
func TestDirectories(t *testing.T) {
	files := map[string]string{"a/1.txt": "x s-mean 1\n", "b/1.txt": "x s-mean 2\n", "other/b/1.txt": "x s-mean 3\n"}
	for name, i := range map[string]importing{
		"two":                 {arms: []string{"a", "b"}, trials: "1 a x s-mean=1\n1 b x s-mean=2", notes: []string{"each directory is an arm: a, b; the baseline is a (--arm NAME makes them one arm)"}},
		"one":                 {arms: []string{"a"}, trials: "1 imported x s-mean=1"},
		"files":               {arms: []string{"a/1.txt", "b/1.txt"}, trials: "1 imported x s-mean=1\n2 imported x s-mean=2"},
		"two of one name":     {arms: []string{"b", "other/b"}, err: "two directories are called b"},
		"a directory, a file": {arms: []string{"a", "b", "other/b/1.txt"}, err: "which arm is"},
		"beside an arm's":     {arms: []string{"c=other/b", "a", "b"}, err: "which arm is"},
	} {
		i.files = files
		t.Run(name, i.run)
	}
}
