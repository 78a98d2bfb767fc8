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

	"tare/experiment"
	"tare/machine"
)

// Create makes a run directory and takes its lock. The directory must not exist or be
// empty, or hold what a Create left that was killed. File is the experiment as the user
// wrote it, and files are those that it names, kept as they are now; env may be nil where
// nothing is known of the machine. When Create returns, everything is on the disk; when it
// fails, it leaves no directory of its own.
func Create(dir string, file []byte, files map[string][]byte, plan *experiment.Plan, env *machine.Environment) (j *Journal, err error) {
	changed := []string{dir} // directories that have a new entry, with dir itself before them if it is made
	if err = checkEmpty(dir); errors.Is(err, fs.ErrNotExist) {
		changed, err = mkdirAll(dir, dirMode)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the run directory: %w", err)
	}
	root, lock, err := hold(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
			root.Close()
		}
	}()
	// Another Tare may have come first between the two steps above.
	if err := checkEmpty(dir); err != nil {
		return nil, err
	}
	if kept, err := removeMade(root); err != nil || len(kept) > 0 {
		return nil, errors.Join(err, checkEmpty(dir))
	}
	defer func() {
		if err != nil {
			unmake(root, dir, len(changed) > 1)
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

// populate writes the files of a new run. trials.jsonl comes first: without plan.json
// beside it, it marks what a killed Create left. plan.json comes last: a directory with a
// plan is a whole run directory.
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
	if err := keepFiles(root, files, write); err != nil {
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

// planText is the content of plan.json.
func planText(plan *experiment.Plan) ([]byte, error) {
	p := *plan
	p.Schema = experiment.PlanSchema
	return jsonText(PlanFile, &p)
}

// noteLines are lines of notes.jsonl, written now, after those that end with the chain head.
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

// environmentText is the record of a session's machine, and its file.
func environmentText(env *machine.Environment) (*machine.Environment, []byte, error) {
	e := *env
	e.Schema = machine.EnvironmentSchema
	text, err := jsonText(EnvironmentFile, &e)
	return &e, text, err
}

// Resume opens a run directory to go on with it: it takes the lock, drops a
// line that was being written when the run was killed (with a note), and begins
// the next session. A run that is finished can be resumed, but records nothing
// more: Finished tells.
func Resume(dir string) (j *Journal, err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("no run to resume: %w", err)
	}
	root, lock, err := hold(dir)
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

// hold opens a run directory and takes its lock.
func hold(dir string) (*os.Root, *os.File, error) {
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

// load reads what is in a run directory and opens its logs for writing.
func load(dir string, root *os.Root, lock *os.File) (*Journal, error) {
	r, err := read(dir, root)
	if err != nil {
		return nil, err
	}
	j := &Journal{root: root, lock: lock, run: r, raw: map[string]*Raw{}, now: time.Now}
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

// checkEmpty fails when dir holds anything but a lock, or what a killed Create left.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || begun(dir) {
		return err
	}
	for _, e := range entries {
		if e.Name() == LockFile {
			continue
		}
		if run, err := Open(dir); err == nil && !run.Finished {
			return fmt.Errorf("%s is not empty: choose another directory, or go on with this one: tare resume %s", dir, dir)
		}
		return fmt.Errorf("%s is not empty: choose another directory", dir)
	}
	return nil
}

// begun says whether dir is what Create makes before the plan, which comes last.
func begun(dir string) bool {
	trials, err := os.Lstat(filepath.Join(dir, TrialsFile))
	if err != nil || !trials.Mode().IsRegular() || trials.Size() > 0 || !isFile(dir, LockFile) {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, PlanFile))
	return errors.Is(err, fs.ErrNotExist)
}

// dirMode is that of a run directory: what a program printed is nobody else's business
// until somebody publishes it. Files in it, and the directories around it, follow the umask.
const dirMode = 0o700

// mkdirAll is os.MkdirAll that tells which directories got a new entry, dir
// itself (which will) first. The mode is that of dir.
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

// unmake removes what Create wrote, and the directory if Create made it. What
// cannot be removed stays: it is no run directory without a plan.
func unmake(root *os.Root, dir string, made bool) {
	_, _ = removeMade(root)
	_ = root.Remove(LockFile)
	if made {
		os.Remove(dir)
	}
}

// LockedError is a run directory that another process is writing.
type LockedError struct {
	Dir string
	PID int // 0 if it cannot be told
}

// Error names the process that holds the directory.
func (e *LockedError) Error() string {
	by := "another process"
	if e.PID > 0 {
		by = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("run %s is being written by %s: wait for it to end, or stop it", e.Dir, by)
}

// takeLock takes the exclusive lock of a run directory. It is a lock on an
// open file: the system releases it when this process ends, however it ends, so
// that no stale lock can be left. Programs that Tare starts do not inherit it.
func takeLock(root *os.Root, dir string) (*os.File, error) {
	f, err := root.OpenFile(LockFile, os.O_RDWR|os.O_CREATE, 0o666)
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
	// The process id serves the other's error message only. On a full disk it
	// cannot be written, which is no reason to refuse the lock.
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
