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

// Formats of the lines of trials.jsonl and notes.jsonl, as in their member "schema".
const (
	TrialSchema = "tare.trial/v1"
	NoteSchema  = "tare.note/v1"
)

// Limits of file sizes. With these limits, a damaged or hostile file causes an error instead of exhausting memory.
const (
	maxLine = 16 << 20 // bytes of one line, or of one JSON document
	maxLog  = 1 << 30  // bytes of trials.jsonl or notes.jsonl, enough for about 500,000 trials
)

// DefaultRoot is the directory that holds all runs unless the user names another.
const DefaultRoot = "runs"

// DefaultDir returns the directory of a new run below root: NAME-20060102-150405.
func DefaultDir(root, name string, now time.Time) string {
	return filepath.Join(root, name+"-"+now.Format("20060102-150405"))
}

// findDepth is the number of directory levels below the root that Find searches.
const findDepth = 4

// Find lists the run directories below root, root itself included, ordered by path. It searches four levels
// deep, follows no links, and skips unreadable directories. If root does not exist, the list is empty.
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

// walk calls visit for directories below root as Find does. The result deeper of visit tells whether to walk through
// the subdirectories.
func walk(root string, visit func(path string) (deeper bool, err error)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && (exhausted(err) || path == root && !errors.Is(err, fs.ErrNotExist)):
			return err
		case err != nil, !d.IsDir():
			return nil
		}
		deeper, err := visit(path)
		below, _ := filepath.Rel(root, path) // cannot fail: path begins with root
		if err == nil && (!deeper || below != "." && strings.Count(below, string(filepath.Separator))+1 >= findDepth) {
			err = fs.SkipDir
		}
		return err
	})
}

// exhausted reports whether an error is a shortage of this process, such as too many open files, not a fault of the file.
func exhausted(err error) bool {
	_, reached := machine.Exhausted(err)
	return reached
}

// IsRun reports whether dir has the two files that every run has.
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
