package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tare/machine"
	"tare/mask"
)

// Journal is a run directory that is being written. Its methods may be called
// from several goroutines. Only one Journal can hold a directory at a time.
type Journal struct {
	root   *os.Root
	lock   *os.File
	trials *lineLog
	notes  *lineLog

	mu   sync.Mutex
	run  *Run            // what is on disk
	raw  map[string]*Raw // handed out in this session and not yet recorded, by directory
	mask *mask.Mask      // nil: there are no secrets
	now  func() time.Time
}

// Dir is the run directory as it was named to Create or Resume.
func (j *Journal) Dir() string { return j.run.Dir }

// Session is the number of this session: 1 for a new run, one more with each
// Resume.
func (j *Journal) Session() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.session()
}

// Trials are the recorded trials of all sessions in the order of their Seq. The
// caller must not change them.
func (j *Journal) Trials() []Trial {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clip(j.run.Trials)
}

// Environment is the record of the machine that the run began on; nil if there
// is none.
func (j *Journal) Environment() *machine.Environment {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.Environment
}

// Rounds is the number of rounds that SetRounds fixed, in this session or an
// earlier one; 0 if none was.
func (j *Journal) Rounds() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.Rounds
}

// Finished says whether the run was marked complete.
func (j *Journal) Finished() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.Finished
}

// Append records a finished trial and returns when it is on the disk together
// with its raw output, which it closes. It sets the trial's Seq and Session,
// and gives its Start in UTC.
//
// The raw output is made durable first, then the line: a trial on record always
// has its raw output. Nothing is left to be written back afterwards, so that
// recording one trial costs the next one no disk time.
//
// When the line cannot be written, for want of space for instance, the file is
// cut back to its last whole line and the error is a *WriteError: everything
// recorded so far is intact, and nothing more is recorded in this session.
func (j *Journal) Append(t *Trial) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.run.Finished {
		return fmt.Errorf("run %s is finished and takes no more trials", j.run.Dir)
	}
	if t.Raw != "" {
		raw, ok := j.raw[t.Raw]
		if !ok {
			return fmt.Errorf("trial of arm %q in cell %q: %q is not raw output of this session", t.Arm, t.Cell, t.Raw)
		}
		if err := raw.finish(); err != nil {
			return err
		}
		t.Files = raw.digests
	}
	t.Seq = len(j.run.Trials) + 1
	t.Session = j.run.session()
	t.Start = t.Start.UTC().Round(0)
	t.without(j.mask)
	line, err := t.line()
	if err != nil {
		return err
	}
	if err := j.run.trials.append(j.trials, line); err != nil {
		return err
	}
	j.run.Trials = append(j.run.Trials, *t)
	delete(j.raw, t.Raw)
	return nil
}

// Note records a remark that belongs to the run: that a session was
// interrupted, that a layer had to be put up again. It is durable on return.
func (j *Journal) Note(text string) error {
	return j.note(Note{Kind: NoteRemark, Text: text})
}

// LeaveOut records that this session goes on without an arm. It is durable on return.
func (j *Journal) LeaveOut(arm, why string) error {
	return j.note(Note{Kind: NoteLeftOut, Arm: arm, Text: why})
}

// LeftOut lists the arms without which a session went on.
func (j *Journal) LeftOut(session int) (arms []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.run.Notes {
		if n.Kind == NoteLeftOut && n.Session == session {
			arms = append(arms, n.Arm)
		}
	}
	return arms
}

// SetRounds fixes the number of rounds, once in the life of a run: the second
// stage of Stein's rule. Why says where the number comes from. Setting the same
// number again does nothing; another number is an error, since a number of
// rounds that follows the data twice would void the interval.
func (j *Journal) SetRounds(n int, why string) error {
	fixed := j.Rounds()
	switch {
	case n < 1:
		return fmt.Errorf("%d is not a number of rounds", n)
	case fixed == n:
		return nil
	case fixed != 0:
		return fmt.Errorf("the number of rounds is fixed at %d and cannot become %d", fixed, n)
	}
	return j.note(Note{Kind: NoteRounds, Rounds: n, Text: why})
}

// FixSetUps records, once in the life of a run, how many rounds share a set-up of all arms;
// 0: all. Fixing it once more is an error.
func (j *Journal) FixSetUps(every int, why string) error {
	if k, fixed := j.SetUps(); fixed {
		return fmt.Errorf("that a set-up lasts for %d rounds is fixed and cannot be changed", k)
	}
	return j.note(Note{Kind: NoteSetUps, Rounds: every, Text: why})
}

// SetUps is what FixSetUps recorded, in this session or an earlier one.
func (j *Journal) SetUps() (every int, fixed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.run.Notes {
		if n.Kind == NoteSetUps {
			return n.Rounds, true
		}
	}
	return 0, false
}

// MakeUp records how many rounds are added, in all, for those that the machine's condition
// has cost.
func (j *Journal) MakeUp(rounds int, why string) error {
	return j.note(Note{Kind: NoteMadeUp, Rounds: rounds, Text: why})
}

// MadeUp is what MakeUp recorded last, in this session or an earlier one.
func (j *Journal) MadeUp() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.MadeUp
}

// Extend lets a finished run go on to n rounds in all, as a second stage that everybody
// who reads the run is told of, and begins a session. What the first stage said stays on
// record in the text. It is an error where the run is not finished, was imported, has a
// goal of precision or has as many rounds already.
func (j *Journal) Extend(n int, text string) error {
	if err := j.extendable(n); err != nil {
		return fmt.Errorf("run %s cannot be extended to %d rounds: %w", j.run.Dir, n, err)
	}
	if err := j.note(Note{Kind: NoteExtended, Rounds: n, Text: text}); err != nil {
		return err
	}
	return j.startSession("extended")
}

// extendable says why a run cannot be extended.
func (j *Journal) extendable(n int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.Extendable(n)
}

// Extendable says why the run cannot be extended to n rounds; nil where it can.
func (r *Run) Extendable(n int) error {
	most := r.Plan.Total()
	for i := range r.Trials {
		if r.Plan.Ended == 0 { // else rounds that do not count may have begun
			most = max(most, r.Trials[i].Round)
		}
	}
	switch {
	case r.Plan.Import != nil:
		return errors.New("it was imported, and Tare cannot run its trials")
	case r.Plan.Precision > 0:
		return fmt.Errorf("its pilot has set the number of rounds for a precision of ±%v, and the interval allows for that alone", r.Plan.Precision)
	case len(r.Plan.DecideAt) > 0:
		return errors.New("its looks were planned, and its intervals allow for those alone")
	case !r.Finished:
		return errors.New("it is not finished")
	case n <= most:
		return fmt.Errorf("it has %d rounds already", most)
	}
	return nil
}

// End records why the session ends before the plan is carried out. With rounds above 0 the run is
// done with so many: the first ones, and trials of later rounds count for nothing.
func (j *Journal) End(rounds int, why string) error {
	if j.Finished() {
		return nil
	}
	return j.note(Note{Kind: NoteEnded, Rounds: rounds, Text: why})
}

// Decide records that every headline comparison is decided after so many rounds, which ends the run.
func (j *Journal) Decide(rounds int, why string) error {
	return j.note(Note{Kind: NoteDecided, Rounds: rounds, Text: why})
}

// Decided is what Decide recorded, in this session or an earlier one; 0: nothing.
func (j *Journal) Decided() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.run.Plan.Decided
}

// Finish marks the run complete. Doing so again does nothing.
func (j *Journal) Finish() error {
	if j.Finished() {
		return nil
	}
	return j.note(Note{Kind: NoteFinished, Text: "finished"})
}

// note records n with the time and, unless it has one, the session's number.
func (j *Journal) note(n Note) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	n.Time, n.Text = j.now().UTC().Round(0), j.mask.Text(n.Text)
	if n.Session == 0 {
		n.Session = j.run.session()
	}
	if j.run.bound() || n.Kind == NoteFinished && j.run.trials.sealed {
		n.Trials, n.Head = len(j.run.Trials), j.run.trials.head
	}
	line, err := n.line()
	if err != nil {
		return err
	}
	if err := j.run.notes.append(j.notes, line); err != nil {
		return err
	}
	j.run.addNote(n)
	return nil
}

// AddEnvironment records the machine that a resumed session runs on, as
// environment-SESSION.json, and notes in what it differs from the machine that
// the run began on. In the first session it takes the place of the record that
// Create was given. In a finished run there is no such session, and it does
// nothing.
func (j *Journal) AddEnvironment(env *machine.Environment) error {
	session := j.Session()
	if j.Finished() {
		return nil
	}
	name := environmentFile(session)
	e, text, err := environmentText(env)
	if err != nil {
		return &WriteError{Dir: j.run.Dir, File: name, Err: err}
	}
	if err := j.writeNoted(name, text); err != nil {
		return err
	}
	j.mu.Lock()
	j.run.setEnvironment(session, e)
	first := j.run.Environment
	j.mu.Unlock()
	if first == nil || session == 1 {
		return nil
	}
	for _, d := range first.Differences(e) {
		if err := j.Note("the machine changed: " + d); err != nil {
			return err
		}
	}
	return nil
}

// writeNoted writes a file and notes its digest. At every moment the digest of what is
// there is on record: a new file is noted when it is there, and a new content of an old
// one before.
func (j *Journal) writeNoted(name string, content []byte) error {
	note := func() error {
		return j.note(Note{Kind: NoteFiles, Text: name + " was written", Files: map[string]string{name: link("", content)}})
	}
	_, err := j.root.Stat(name)
	there := err == nil
	if there {
		if err := note(); err != nil {
			return err
		}
	}
	if err := writeFile(j.root, filepath.FromSlash(name), content); err != nil {
		return &WriteError{Dir: j.run.Dir, File: name, Err: err}
	}
	if there {
		return nil
	}
	return note()
}

// Close gives the directory free. What was recorded is on the disk already.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, raw := range j.raw {
		errs = append(errs, raw.finish())
	}
	clear(j.raw)
	errs = append(errs, j.closeLogs(), j.lock.Close(), j.root.Close())
	return errors.Join(errs...)
}

func (j *Journal) closeLogs() error {
	return errors.Join(j.trials.file.Close(), j.notes.file.Close())
}
