package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tare/internal/run/machine"
	"tare/internal/text/mask"
)

// Journal is a run directory open for writing. Its methods may be called from several goroutines. Only
// one Journal can hold a directory at a time.
type Journal struct {
	root   *os.Root
	lock   *os.File
	trials *lineLog
	notes  *lineLog

	mu   sync.Mutex
	run  *Run            // the content on disk
	raw  map[string]*raw // unrecorded raw output of this session, by directory
	mask *mask.Mask      // replaces secrets in texts; nil: there are no secrets
	now  func() time.Time
}

// Dir returns the path of the run directory that was given to Create or Resume.
func (j *Journal) Dir() string { return j.run.Dir }

// locked calls the function get with the run, and returns its result. No other goroutine changes the run meanwhile.
func locked[T any](j *Journal, get func(*Run) T) T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return get(j.run)
}

// Session returns the number of this session: 1 for a new run, one more with each Resume.
func (j *Journal) Session() int { return locked(j, (*Run).session) }

// Trials returns the recorded trials of all sessions, ordered by Seq. The caller must not change them.
func (j *Journal) Trials() []Trial {
	return locked(j, func(r *Run) []Trial { return slices.Clip(r.Trials) })
}

// Environment returns the environment of the run's first session; nil if none is recorded.
func (j *Journal) Environment() *machine.Environment {
	return locked(j, func(r *Run) *machine.Environment { return r.Environment })
}

// Rounds returns the number of rounds that SetRounds has fixed in any session; 0: it is not fixed.
func (j *Journal) Rounds() int { return locked(j, func(r *Run) int { return r.Rounds }) }

// Finished reports whether the run was marked complete.
func (j *Journal) Finished() bool { return locked(j, func(r *Run) bool { return r.Finished }) }

// Append records a finished trial and closes its raw output. It sets the trial's Seq and Session, and converts its
// Start to UTC. When Append returns, all data are on the disk, so recording causes no disk activity during the next
// trial.
//
// The raw output is made durable before the line: a recorded trial always has its raw output.
//
// If the line cannot be written, for example on a full disk, the file is cut back to its last complete line and the
// error is a *WriteError. Earlier records are intact, and this session records nothing more.
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
	t.mask(j.mask)
	line, err := t.Line()
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

// Note records a remark about the run, for example that a session was interrupted. The remark is durable on return.
func (j *Journal) Note(text string) error {
	return j.Record(Note{Kind: NoteRemark, Text: text})
}

// LeftOut lists the arms that a session left out.
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

// SetRounds fixes the number of rounds, once in the life of a run: the second of Stein's two stages begins. why
// explains the number. A second, different number is an error: it would make the interval void.
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
	return j.Record(Note{Kind: noteRounds, Rounds: n, Text: why})
}

// FixSetUps records the number of rounds that share a set-up of all arms; 0: all rounds. It can be called only once in
// the life of a run.
func (j *Journal) FixSetUps(every int, why string) error {
	if k, fixed := j.SetUps(); fixed {
		return fmt.Errorf("that a set-up lasts for %d rounds is fixed and cannot be changed", k)
	}
	return j.Record(Note{Kind: NoteSetUps, Rounds: every, Text: why})
}

// SetUps returns the number of rounds that share a set-up, as recorded by FixSetUps in any session. The result fixed is
// false if there is no record.
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

// ExtraRounds returns the number of extra rounds in the last note of the kind NoteExtraRounds; 0: there is no such
// note.
func (j *Journal) ExtraRounds() int { return locked(j, func(r *Run) int { return r.ExtraRounds }) }

// Extend raises the number of rounds of a finished run to n and begins a session. text states the results before, for
// every report. Extend fails if the run is not finished, was imported, has a goal of precision, has planned looks, or
// has n rounds already.
func (j *Journal) Extend(n int, text string) error {
	if err := locked(j, func(r *Run) error { return r.Extendable(n) }); err != nil {
		return fmt.Errorf("run %s cannot be extended to %d rounds: %w", j.run.Dir, n, err)
	}
	if err := j.Record(Note{Kind: NoteExtended, Rounds: n, Text: text}); err != nil {
		return err
	}
	return j.startSession("extended")
}

// Extendable returns the reason why the run cannot be extended to n rounds; nil if it can.
func (r *Run) Extendable(n int) error {
	most := r.Plan.Total()
	for i := range r.Trials {
		if r.Plan.Ended == 0 { // the run did not end early, so the rounds of all recorded trials count
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

// End records why the session ends early. A number of rounds above 0 finishes the run: trials of later rounds do not
// count.
func (j *Journal) End(rounds int, why string) error {
	if j.Finished() {
		return nil
	}
	return j.Record(Note{Kind: noteEnded, Rounds: rounds, Text: why})
}

// Decided returns the number of rounds after which the run was decided, from the note NoteDecided; 0: there is none.
func (j *Journal) Decided() int { return locked(j, func(r *Run) int { return r.Plan.Decided }) }

// Finish marks the run complete. A second call does nothing.
func (j *Journal) Finish() error {
	if j.Finished() {
		return nil
	}
	return j.Record(Note{Kind: NoteFinished, Text: "finished"})
}

// Record adds a note with the current time. A note without a session gets this session. The note is durable on return.
func (j *Journal) Record(n Note) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	n.Time, n.Text = j.now().UTC().Round(0), j.mask.Text(n.Text)
	if n.Session == 0 {
		n.Session = j.run.session()
	}
	if j.run.mustChain() || n.Kind == NoteFinished && j.run.trials.sealed {
		n.Trials, n.Head = len(j.run.Trials), j.run.trials.head
	}
	line, err := n.Line()
	if err != nil {
		return err
	}
	if err := j.run.notes.append(j.notes, line); err != nil {
		return err
	}
	j.run.addNote(n)
	return nil
}

// AddEnvironment records the machine of this session. In the first session, it replaces Create's record. In a resumed
// session, it notes the differences from the first machine.
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

// writeNoted writes a file and notes its digest. A replaced file is noted before the write, so that its new digest is
// always on record.
func (j *Journal) writeNoted(name string, content []byte) error {
	note := func() error {
		return j.Record(Note{Kind: noteFiles, Text: name + " was written", Files: map[string]string{name: link("", content)}})
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

// Close releases the run directory. All records are already on the disk.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, raw := range j.raw {
		errs = append(errs, raw.finish())
	}
	clear(j.raw)
	errs = append(errs, j.trials.file.Close(), j.notes.file.Close(), j.lock.Close(), j.root.Close())
	return errors.Join(errs...)
}
