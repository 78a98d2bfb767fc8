package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/run/machine"
)

// The files of a run directory; docs/run-directory.md describes each.
const (
	ExperimentFile  = "experiment.yaml"  // the experiment as the user wrote it
	PlanFile        = "plan.json"        // an experiment.Plan
	EnvironmentFile = "environment.json" // the machine.Environment of the first session
	TrialsFile      = "trials.jsonl"     // one finished trial a line
	NotesFile       = "notes.jsonl"      // one Note a line
	RawDir          = "raw"              // one subdirectory for each trial
	lockFile        = "lock"             // locked by the process that writes the run
	SignatureFile   = "chain.sig"        // signature of the last note's chain; optional
)

// These are the formats of lines in trials.jsonl and notes.jsonl. Each line names its format in the member "schema".
const (
	TrialSchema = "tare.trial/v1"
	NoteSchema  = "tare.note/v1"
)

// Limits of file sizes. With these limits, a damaged or hostile file causes an error instead of exhausting memory.
const (
	maxLine = 16 << 20 // largest line or JSON document, in bytes
	maxLog  = 1 << 30  // largest trials.jsonl or notes.jsonl, in bytes: about 500,000 trials
)

// DefaultRoot is the directory that holds all runs unless the user names another.
const DefaultRoot = "runs"

// DefaultDir returns the directory of a new run below root: NAME-20060102-150405.
func DefaultDir(root, name string, now time.Time) string {
	return filepath.Join(root, name+"-"+now.Format("20060102-150405"))
}

// findDepth is the number of levels of directories below the root in which Find searches.
const findDepth = 4

// Find lists the run directories at the root and up to four levels below it, by path. It skips links and unreadable
// directories. A missing root has no runs.
func Find(root string) ([]string, error) {
	var runs []string
	err := walk(root, func(path string) (deeper bool, err error) {
		if !IsRun(path) {
			return true, nil
		}
		runs = append(runs, path)
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot look for runs: %w", err)
	}
	return runs, nil
}

// walk calls the function visit for the directories that Find searches. If visit returns true for a directory, walk
// goes on to its subdirectories.
func walk(root string, visit func(path string) (deeper bool, err error)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && (exhausted(err) || path == root && !errors.Is(err, fs.ErrNotExist)):
			return err
		case err != nil, !d.IsDir():
			return nil
		}
		deeper, err := visit(path)
		below, _ := filepath.Rel(root, path) // no error, since path begins with root
		if err == nil && (!deeper || below != "." && strings.Count(below, string(filepath.Separator))+1 >= findDepth) {
			err = fs.SkipDir
		}
		return err
	})
}

// exhausted reports whether this process lacks a resource, such as free file descriptors. The error then says nothing
// about the file.
func exhausted(err error) bool {
	_, reached := machine.Exhausted(err)
	return reached
}

// IsRun reports whether dir has plan.json and trials.jsonl, as every run has.
func IsRun(dir string) bool {
	return !slices.ContainsFunc([]string{PlanFile, TrialsFile}, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err != nil || !info.Mode().IsRegular()
	})
}

func environmentFile(session int) string {
	if session == 1 {
		return EnvironmentFile
	}
	return "environment-" + strconv.Itoa(session) + ".json"
}
