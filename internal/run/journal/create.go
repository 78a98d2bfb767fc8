package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/run/machine"
)

// Create makes a run directory and takes its lock. An existing directory must be empty or hold only the remains of a
// killed Create. file is the experiment, as the user wrote it. files maps names in the experiment to the contents of
// files. A nil env: the machine is unknown. When Create returns, everything is on the disk. If it fails, it leaves no
// directory of its own.
func Create(dir string, file []byte, files map[string][]byte, plan *experiment.Plan, env *machine.Environment) (j *Journal, err error) {
	changed := []string{dir} // directories in which an entry was made
	err = checkEmpty(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		var parents []string
		if parents, err = makeParents(dir); err == nil {
			changed, err = append(changed, parents...), os.Mkdir(dir, dirMode)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the run directory: %w", err)
	}
	root, lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
			root.Close()
		}
	}()
	// The directory may have been filled by another process before the lock was taken.
	if err := checkEmpty(dir); err != nil {
		return nil, err
	}
	if kept, err := removeMade(root); err != nil || len(kept) > 0 {
		return nil, errors.Join(err, checkEmpty(dir))
	}
	defer func() {
		if err != nil { // without a plan, this is no run directory, even if a file stays behind
			_, _ = removeMade(root)
			_ = root.Remove(lockFile)
			if missing {
				os.Remove(dir)
			}
		}
	}()
	if err := populate(root, file, files, plan, env); err != nil {
		return nil, &WriteError{Dir: dir, File: "the run directory", Fresh: true, Err: err}
	}
	for _, d := range changed {
		if err := SyncDir(d); err != nil {
			return nil, err
		}
	}
	return load(dir, root, lock)
}

// populate writes the files of a new run. trials.jsonl comes first: without plan.json, it marks the remains of a killed
// Create. plan.json comes last.
func populate(root *os.Root, file []byte, files map[string][]byte, plan *experiment.Plan, env *machine.Environment) error {
	if err := writeFile(root, TrialsFile, nil); err != nil {
		return err
	}
	if err := root.Mkdir(RawDir, 0o777); err != nil {
		return err
	}
	content := map[string][]byte{ExperimentFile: file}
	if env != nil {
		_, text, err := environmentText(env)
		if err != nil {
			return err
		}
		content[EnvironmentFile] = text
	}
	if len(files) > 0 {
		if err := root.Mkdir(namedDir, 0o777); err != nil {
			return err
		}
	}
	for name, text := range files {
		content[copyPath(name)] = text
	}
	begin := Note{Kind: NoteSession, Session: 1, Text: "started", Files: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if err := writeFile(root, name, content[name]); err != nil {
			return err
		}
		begin.Files[filepath.ToSlash(name)] = link("", content[name])
	}
	if len(files) > 0 {
		if err := syncDir(root, namedDir); err != nil {
			return err
		}
	}
	text, err := planText(plan)
	if err != nil {
		return err
	}
	begin.Files[PlanFile] = link("", text)
	notes, _, err := noteLines("", begin)
	if err != nil {
		return err
	}
	if err := writeFile(root, NotesFile, notes); err != nil {
		return err
	}
	return writeFile(root, PlanFile, text)
}

func planText(plan *experiment.Plan) ([]byte, error) {
	p := *plan
	p.Schema = experiment.PlanSchema
	return jsonText(PlanFile, &p)
}

// noteLines returns lines of notes.jsonl with the present time. The first line continues the chain head. The result
// last is the chain of the last line.
func noteLines(head string, list ...Note) (data []byte, last string, err error) {
	for _, n := range list {
		n.Time = time.Now().UTC().Round(0)
		line, err := n.Line()
		if err != nil {
			return nil, "", err
		}
		line, head = seal(line, head)
		data = append(append(data, line...), '\n')
	}
	return data, head, nil
}

// environmentText returns a copy of env with its schema, and the copy as JSON.
func environmentText(env *machine.Environment) (*machine.Environment, []byte, error) {
	e := *env
	e.Schema = machine.EnvironmentSchema
	text, err := jsonText(EnvironmentFile, &e)
	return &e, text, err
}

// Resume opens a run directory to continue the run. It takes the lock, removes a torn last line with a note, and begins
// the next session. A finished run gets no session.
func Resume(dir string) (j *Journal, err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("no run to resume: %w", err)
	}
	root, lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	j, err = load(dir, root, lock)
	if err != nil {
		lock.Close()
		root.Close()
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.Close())
			j = nil
		}
	}()
	var dropped [2]string
	for i, l := range []*lineLog{j.trials, j.notes} {
		if dropped[i], err = l.repair(); err != nil {
			return j, err
		}
	}
	if j.run.Finished {
		return j, nil
	}
	if err := j.startSession("resumed"); err != nil {
		return j, err
	}
	for _, text := range dropped {
		if text != "" {
			if err := j.Note(text); err != nil {
				return j, err
			}
		}
	}
	return j, nil
}

func load(dir string, root *os.Root, lock *os.File) (*Journal, error) {
	r, err := read(dir, root)
	if err != nil {
		return nil, err
	}
	j := &Journal{root: root, lock: lock, run: r, raw: map[string]*raw{}, now: time.Now}
	if j.trials, err = openLog(root, dir, TrialsFile, r.trialsEnd); err != nil {
		return nil, err
	}
	if j.notes, err = openLog(root, dir, NotesFile, r.notesEnd); err != nil {
		return nil, errors.Join(err, j.trials.file.Close())
	}
	return j, nil
}

func (j *Journal) startSession(text string) error {
	return j.Record(Note{Kind: NoteSession, Session: j.run.session() + 1, Text: text})
}

// checkEmpty returns an error if dir holds anything but a lock or the remains of a killed Create.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || isUnfinished(dir) {
		return err
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != lockFile }) {
		return nil
	}
	if run, err := Open(dir); err == nil && !run.Finished {
		return fmt.Errorf("%s is not empty: choose another directory, or go on with this one: tare resume %s", dir, dir)
	}
	return fmt.Errorf("%s is not empty: choose another directory", dir)
}

// isUnfinished reports whether dir is a run directory without a plan. The plan is the file that Create writes last.
func isUnfinished(dir string) bool {
	trials, err := os.Lstat(filepath.Join(dir, TrialsFile))
	if err != nil || !trials.Mode().IsRegular() || trials.Size() > 0 || !isFile(dir, lockFile) {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, PlanFile))
	return errors.Is(err, fs.ErrNotExist)
}

// dirMode is the mode of a run directory: only the user reads programs' output, until its publication. The umask
// decides the modes of files and parents.
const dirMode = 0o700

// makeParents makes the missing parents of a directory. It returns every directory with a new entry: these parents,
// innermost first, and the first existing one.
func makeParents(dir string) (changed []string, err error) {
	parent := filepath.Dir(filepath.Clean(dir))
	for d := parent; ; d = filepath.Dir(d) {
		changed = append(changed, d)
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			return changed, os.MkdirAll(parent, 0o777)
		}
	}
}
