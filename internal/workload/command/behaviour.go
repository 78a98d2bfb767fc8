package command

import (
	"encoding/hex"
	"os"
	"path/filepath"

	"tare/internal/experiment"
	"tare/internal/workload"
)

// expected is the property of the program's standard output that must be the same in all arms.
type expected string

// same demands the same bytes in every run.
const same expected = "same"

func (expected) Values() []string { return []string{string(same)} }

// recordBehaviour records the standard output of one run, and the files that the run has made.
func (t *totals) recordBehaviour(stdout *output, before []os.FileInfo) {
	if t.behaviour == nil {
		t.behaviour = workload.Behaviour{}
	}
	seen := stdout.behaviour.Seen()
	if stdout.digest != nil {
		seen.Marks = []string{"sha256:" + hex.EncodeToString(stdout.digest.Sum(nil))}
	}
	t.behaviour.Add(experiment.Output, seen)
	for i, after := range t.config.files() {
		became := " was made"
		switch was := before[i]; {
		case after == nil, was != nil && os.SameFile(was, after) && was.ModTime().Equal(after.ModTime()) && was.Size() == after.Size():
			became = " was not made"
		case after.Size() == 0:
			became = " is empty"
		}
		t.behaviour.Add(experiment.Files, workload.Observation{Marks: []string{t.config.Makes[i] + became}, Runs: 1})
	}
}

// files returns the present state of the files that the program must make; nil: the file does not exist.
func (c *Config) files() []os.FileInfo {
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
