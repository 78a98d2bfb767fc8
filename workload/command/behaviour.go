package command

import (
	"encoding/hex"
	"os"
	"path/filepath"

	"tare/experiment"
	"tare/workload"
)

// Expected says what the program's standard output must have in common in all arms.
type Expected string

// Same asks for the same bytes in every run.
const Same Expected = "same"

// Values lists what can be asked for.
func (Expected) Values() []string { return []string{string(Same)} }

// did adds what one run has printed on stdout, and the files that it has made.
func (t *tally) did(stdout *output, before []os.FileInfo) {
	if t.behaviour == nil {
		t.behaviour = workload.Behaviour{}
	}
	seen := stdout.said.Seen()
	if stdout.digest != nil {
		seen.Marks = []string{"sha256:" + hex.EncodeToString(stdout.digest.Sum(nil))}
	}
	t.behaviour.Add(experiment.Output, seen)
	for i, after := range t.config.look() {
		became := " was made"
		switch was := before[i]; {
		case after == nil, was != nil && os.SameFile(was, after) && was.ModTime().Equal(after.ModTime()) && was.Size() == after.Size():
			became = " was not made"
		case after.Size() == 0:
			became = " is empty"
		}
		t.behaviour.Add(experiment.Files, workload.Seen{Marks: []string{t.config.Makes[i] + became}, Runs: 1})
	}
}

// look finds the files that the program is to make, as they are now; nil: there is none.
func (c *Config) look() []os.FileInfo {
	found := make([]os.FileInfo, len(c.Makes))
	for i, name := range c.Makes {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		if info, err := os.Stat(name); err == nil {
			found[i] = info
		}
	}
	return found
}
