package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/machine"
)

// The files of a run directory; docs/run-directory.md describes each.
const (
	ExperimentFile  = "experiment.yaml"  // the experiment as given
	PlanFile        = "plan.json"        // experiment.Plan
	EnvironmentFile = "environment.json" // machine.Environment of the first session
	TrialsFile      = "trials.jsonl"     // one finished trial a line
	NotesFile       = "notes.jsonl"      // one Note a line
	RawDir          = "raw"              // a directory for each trial
	LockFile        = "lock"             // held by the process that writes
	SignatureFile   = "chain.sig"        // of the chain of the last note, where somebody signed it
)

// Formats of the lines of trials.jsonl and notes.jsonl, in their member "schema".
const (
	TrialSchema = "tare.trial/v1"
	NoteSchema  = "tare.note/v1"
)

// Bounds on what is read, so that a damaged or hostile file ends in an error
// and not in the machine's memory.
const (
	maxLine = 16 << 20 // bytes of one line, or of one JSON document
	maxLog  = 1 << 30  // bytes of trials.jsonl or notes.jsonl: some 500,000 trials
)

// DefaultRoot is the directory that holds runs unless told otherwise.
const DefaultRoot = "runs"

// DefaultDir names the directory of a new run below root: NAME-20060102-150405.
func DefaultDir(root, name string, now time.Time) string {
	return filepath.Join(root, name+"-"+now.Format("20060102-150405"))
}

// findDepth is how deep below its root Find looks.
const findDepth = 4

// Find lists the run directories below root, root itself included, in the order
// of their paths. It looks four levels deep, follows no links, and passes over
// what it may not read. A root that does not exist holds no runs.
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

// walk visits the directories below root as Find describes it. Visit says whether
// those within are to be visited, too.
func walk(root string, visit func(path string) (deeper bool, err error)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && (exhausted(err) || path == root && !errors.Is(err, fs.ErrNotExist)):
			return err
		case err != nil, !d.IsDir():
			return nil
		}
		deeper, err := visit(path)
		if err == nil && (!deeper || depth(root, path) >= findDepth) {
			err = fs.SkipDir
		}
		return err
	})
}

// exhausted says that an error is about this process and not about what it reads.
func exhausted(err error) bool {
	_, reached := machine.Exhausted(err)
	return reached
}

// IsRun says whether dir has the two files that every run has.
func IsRun(dir string) bool {
	for _, name := range []string{PlanFile, TrialsFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

func depth(root, path string) int {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == "." {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator)) + 1
}

// environmentFile names the environment record of a session.
func environmentFile(session int) string {
	if session == 1 {
		return EnvironmentFile
	}
	return "environment-" + strconv.Itoa(session) + ".json"
}
