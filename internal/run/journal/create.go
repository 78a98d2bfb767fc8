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

	"tare/internal/experiment"
	"tare/internal/run/machine"
)

// Create makes a run directory and takes its lock. The directory must not exist, be empty, or hold the
// remains of a killed Create. File is the experiment as the user wrote it. Files are the files that the
// experiment names; Create keeps their present content. Env may be nil if the machine is unknown. When
// Create returns, everything is on the disk. If it fails, it leaves no directory of its own.
func Create(dir string, file []byte, files map[string][]byte, plan *experiment.Plan, env *machine.Environment) (j *Journal, err error) {
	changed := []string{dir} // directories with a new entry; dir itself comes first if Create made it
	if err = checkEmpty(dir); errors.Is(err, fs.ErrNotExist) {
		changed, err = mkdirAll(dir, dirMode)
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
	// Another process may have filled the directory before the lock was taken.
	if err := checkEmpty(dir); err != nil {
		return nil, err
	}
	if kept, err := removeMade(root); err != nil || len(kept) > 0 {
		return nil, errors.Join(err, checkEmpty(dir))
	}
	defer func() {
		if err != nil {
			removeFailed(root, dir, len(changed) > 1)
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

// populate writes the files of a new run. trials.jsonl comes first: without plan.json beside it, it marks the
// remains of a killed Create. plan.json comes last: a directory with a plan is a whole run directory.
func populate(root *os.Root, file []byte, files map[string][]byte, plan *experiment.Plan, env *machine.Environment) error {
	if err := writeFile(root, TrialsFile, nil); err != nil {
		return err
	}
	if err := root.Mkdir(RawDir, 0o777); err != nil {
		return err
	}
	begin := Note{Kind: NoteSession, Session: 1, Text: "started", Files: map[string]string{}}
	write := func(name string, text []byte) error {
		begin.Files[name] = link("", text)
		return writeFile(root, filepath.FromSlash(name), text)
	}
	if err := write(ExperimentFile, file); err != nil {
		return err
	}
	if env != nil {
		_, text, err := environmentText(env)
		if err == nil {
			err = write(EnvironmentFile, text)
		}
		if err != nil {
			return err
		}
	}
	if err := writeNamedFiles(root, files, write); err != nil {
		return err
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

// noteLines returns lines of notes.jsonl with the present time. Their chain continues from head.
func noteLines(head string, list ...Note) (data []byte, last string, err error) {
	for _, n := range list {
		n.Time = time.Now().UTC().Round(0)
		line, err := n.line()
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

// Resume opens a run directory to continue the run. It takes the lock, removes a torn last line, notes
// the removal, and begins the next session. A finished run can be opened, too, but records nothing more;
// Finished reports it.
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
	var dropped []string
	for _, l := range []*lineLog{j.trials, j.notes} {
		what, err := l.repair()
		if err != nil {
			return j, err
		}
		if what != "" {
			dropped = append(dropped, what)
		}
	}
	if j.run.Finished {
		return j, nil
	}
	if err := j.startSession("resumed"); err != nil {
		return j, err
	}
	for _, text := range dropped {
		if err := j.Note(text); err != nil {
			return j, err
		}
	}
	return j, nil
}

// lockDir opens a run directory and takes its lock.
func lockDir(dir string) (*os.Root, *os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	lock, err := takeLock(root, dir)
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, lock, nil
}

// load reads a run directory and opens its logs for writing.
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
	return j.note(Note{Kind: NoteSession, Session: j.run.session() + 1, Text: text})
}

// checkEmpty returns an error if dir holds anything but a lock or the remains of a killed Create.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || isUnfinished(dir) {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			continue
		}
		if run, err := Open(dir); err == nil && !run.Finished {
			return fmt.Errorf("%s is not empty: choose another directory, or go on with this one: tare resume %s", dir, dir)
		}
		return fmt.Errorf("%s is not empty: choose another directory", dir)
	}
	return nil
}

// isUnfinished reports whether dir is a run directory whose plan, the last file to be written, is missing.
func isUnfinished(dir string) bool {
	trials, err := os.Lstat(filepath.Join(dir, TrialsFile))
	if err != nil || !trials.Mode().IsRegular() || trials.Size() > 0 || !isFile(dir, lockFile) {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, PlanFile))
	return errors.Is(err, fs.ErrNotExist)
}

// dirMode is the mode of a run directory. The output of programs is private until the user publishes it.
// The umask alone sets the mode of files in it and of directories around it.
const dirMode = 0o700

// mkdirAll makes dir with this mode, and its missing parents. It returns dir and the directories that
// got a new entry.
func mkdirAll(dir string, mode fs.FileMode) (changed []string, err error) {
	parent := filepath.Dir(filepath.Clean(dir))
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if changed, err = mkdirAll(parent, 0o777); err != nil {
			return nil, err
		}
	} else {
		changed = []string{parent}
	}
	if err := os.Mkdir(dir, mode); err != nil {
		return nil, err
	}
	return append([]string{dir}, changed...), nil
}

// removeFailed removes the files of a failed Create, and the directory if Create made it. A file that cannot
// be removed stays. This does no harm: a directory without a plan is no run directory.
func removeFailed(root *os.Root, dir string, made bool) {
	_, _ = removeMade(root)
	_ = root.Remove(lockFile)
	if made {
		os.Remove(dir)
	}
}

// LockedError reports that another process is writing the run directory.
type LockedError struct {
	Dir string
	PID int // 0 if unknown
}

// Error names the process that holds the lock.
func (e *LockedError) Error() string {
	by := "another process"
	if e.PID > 0 {
		by = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("run %s is being written by %s: wait for it to end, or stop it", e.Dir, by)
}

// takeLock takes the exclusive lock of a run directory. The lock belongs to an open file: the system
// releases it when this process ends for any reason, and no stale lock can be left. Programs that Tare
// starts do not inherit the lock.
func takeLock(root *os.Root, dir string) (*os.File, error) {
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot lock run %s: %w", dir, err)
	}
	if err := lock(f); err != nil {
		defer f.Close()
		if errors.Is(err, errLocked) {
			return nil, &LockedError{Dir: dir, PID: holder(f)}
		}
		return nil, fmt.Errorf("cannot lock run %s: %w", dir, err)
	}
	// The process id is for the error message of another process only. If the disk is full and the id
	// cannot be written, the lock is still valid.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func holder(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		return 0
	}
	return pid
}
