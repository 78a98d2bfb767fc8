// Package journal is the run directory: an append-only record of finished
// trials that survives kill -9 and a full disk, with the raw output of the tools
// beside it.
package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"tare/experiment"
	"tare/layer"
	"tare/machine"
	"tare/testbed"
	"tare/workload"
)

// Run is a run directory as read.
type Run struct {
	Dir         string
	Experiment  []byte               // experiment.yaml as given
	Plan        *experiment.Plan     // parameters of unknown shape are JSON values, their numbers json.Number
	Environment *machine.Environment // of the first session; nil if none was recorded
	Trials      []Trial              // in the order of their Seq
	Notes       []Note               // in the order written
	Sessions    []Session
	Rounds      int    // rounds in all, as fixed by Stein's second stage or an extension; 0: not fixed
	MadeUp      int    // rounds beyond these, for those that the machine's condition has cost
	Ended       string // why the last session ended before the plan was carried out; "": it did not, or nothing tells
	Finished    bool   // complete; otherwise it runs still, or can be resumed

	trialsEnd, notesEnd int64 // bytes of whole lines in the logs
	trials, notes       chain
	vouched             []string // files at the top and below NamedDir whose digests are on record, and right
}

// Session is one stretch of a run, from its start or resumption to its end or
// interruption.
type Session struct {
	Number      int // from 1
	Start       time.Time
	Environment *machine.Environment // nil if none was recorded
}

// NoteKind says what a note is about.
type NoteKind string

// The kinds of notes.
const (
	NoteSession  NoteKind = "session"  // a session begins
	NoteRemark   NoteKind = "remark"   // something that a reader of the run should know
	NoteRounds   NoteKind = "rounds"   // the number of rounds is fixed
	NoteSetUps   NoteKind = "set-ups"  // how often all arms are set up anew is fixed
	NoteMadeUp   NoteKind = "made-up"  // rounds are added for those that the machine's condition has cost
	NoteLeftOut  NoteKind = "left-out" // the session goes on without an arm
	NoteEnded    NoteKind = "ended"    // the session ends before the plan is carried out
	NoteDecided  NoteKind = "decided"  // every headline comparison is decided at a planned look
	NoteFinished NoteKind = "finished" // the run is complete
	NoteExtended NoteKind = "extended" // a complete run was looked at, and goes on
	NoteFiles    NoteKind = "files"    // files were written
)

// Note is one line of notes.jsonl: something that happened to the run.
type Note struct {
	Kind    NoteKind  `json:"kind"`
	Session int       `json:"session"`
	Time    time.Time `json:"time"`
	// Rounds are those of the run, with NoteRounds and NoteExtended; those that share a set-up,
	// with NoteSetUps (0: all); those that are added, with NoteMadeUp; those with which the run is
	// done all the same, with NoteEnded (0: it is not) and NoteDecided.
	Rounds int    `json:"rounds,omitempty"`
	Arm    string `json:"arm,omitempty"` // with NoteLeftOut
	// Trials are those on record, in every note but the first; an older Tare told them with NoteFinished alone.
	Trials int `json:"trials,omitempty"`
	// Head is the chain of the last of these trials; of none, what their chain begins with.
	Head string `json:"head,omitempty"`
	// Files are the SHA-256 digests of files of the run from here on, by name.
	Files map[string]string `json:"files,omitempty"`
	Text  string            `json:"text"`
}

// Open reads a run directory. It takes no lock and changes nothing, and may be
// used while another process writes the run: a last line that is not whole yet
// is passed over.
func Open(dir string) (*Run, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot open the run: %w", err)
	}
	defer root.Close()
	return read(dir, root)
}

// read reads everything but the raw output. Notes come before trials: with a
// writer at work, a run that reads as finished then has all its trials.
func read(dir string, root *os.Root) (*Run, error) {
	r := &Run{Dir: dir, Plan: &experiment.Plan{}}
	if _, err := root.Stat(PlanFile); errors.Is(err, fs.ErrNotExist) {
		if trials, err := root.Stat(TrialsFile); err == nil && trials.Size() > 0 { // else it was only begun
			return nil, &DamageError{Dir: dir, Where: PlanFile, What: "it is missing"}
		}
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", dir, PlanFile)
	}
	for _, part := range []func(*os.Root) error{r.readPlan, r.readNotes, r.readEnvironments, r.proves, r.compareFiles, r.readTrials} {
		if err := part(root); err != nil {
			return nil, damaged(dir, err)
		}
	}
	return r, nil
}

// readPlan reads the plan, and the experiment if the run has one.
func (r *Run) readPlan(root *os.Root) error {
	err := readJSON(root, PlanFile, experiment.PlanSchema, r.Plan)
	if err != nil {
		return err
	}
	if r.Experiment, err = readFile(root, ExperimentFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r *Run) readNotes(root *os.Root) error {
	f, err := openFile(root, NotesFile, maxLog)
	if err != nil {
		return err
	}
	defer f.Close()
	r.notesEnd, err = eachLine(f, NotesFile, func(line []byte, where func() string) error {
		var n Note
		if err := decode(line, where(), NoteSchema, &n); err != nil {
			return err
		}
		if len(r.Notes) == 0 {
			_, own := unseal(line)
			r.notes.sealed = own != ""
			r.trials.sealed = r.notes.sealed
		}
		if err := r.notes.follow(line); err != nil {
			return &DamageError{Where: where(), What: err.Error()}
		}
		if len(r.Notes) == 0 && r.bound() {
			r.trials.head = trialsBegin(n.Files[PlanFile], r.notes.head)
		}
		r.addNote(n)
		return nil
	})
	return err
}

// addNote takes a note up into the state of the run.
func (r *Run) addNote(n Note) {
	r.Notes = append(r.Notes, n)
	switch n.Kind {
	case NoteSession:
		r.Sessions = append(r.Sessions, Session{Number: n.Session, Start: n.Time})
		r.Ended, r.Plan.Ended = "", 0
	case NoteRounds:
		r.fix(n.Rounds)
	case NoteMadeUp:
		r.MadeUp = n.Rounds
	case NoteExtended:
		r.Plan.Looks = append(r.Plan.Looks, r.Plan.Total())
		r.Ended, r.Plan.Ended = "", 0
		r.fix(n.Rounds)
		r.Finished = false
	case NoteEnded:
		r.Ended, r.Plan.Ended = n.Text, n.Rounds
	case NoteDecided:
		r.Plan.Decided = n.Rounds
	case NoteFinished:
		r.Finished = true
	}
}

// fix sets the number of rounds in all, of which plan.json does not tell.
func (r *Run) fix(rounds int) { r.Rounds, r.Plan.Fixed = rounds, rounds }

// session is the number of the last session, 0 before the first.
func (r *Run) session() int {
	if len(r.Sessions) == 0 {
		return 0
	}
	return r.Sessions[len(r.Sessions)-1].Number
}

func (r *Run) readEnvironments(root *os.Root) error {
	sessions := []int{1}
	for _, s := range r.Sessions {
		if s.Number > 1 {
			sessions = append(sessions, s.Number)
		}
	}
	for _, n := range sessions {
		var e machine.Environment
		err := readJSON(root, environmentFile(n), machine.EnvironmentSchema, &e)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		r.setEnvironment(n, &e)
	}
	return nil
}

func (r *Run) setEnvironment(session int, e *machine.Environment) {
	if session == 1 {
		r.Environment = e
	}
	for i := range r.Sessions {
		if r.Sessions[i].Number == session {
			r.Sessions[i].Environment = e
		}
	}
}

func (r *Run) readTrials(root *os.Root) error {
	f, err := openFile(root, TrialsFile, maxLog)
	if err != nil {
		return err
	}
	defer f.Close()
	r.trials.marks = map[int]string{}
	for _, n := range r.Notes {
		r.trials.marks[n.Trials] = ""
	}
	r.trials.marks[0] = r.trials.head
	if r.Trials, r.trialsEnd, err = parseTrials(f, &r.trials); err != nil {
		return err
	}
	for i, n := range r.Notes {
		if n.Head == "" && n.Trials == 0 { // an older Tare counted only when the run was finished
			continue
		}
		ended := (n.Kind == NoteFinished || n.Kind == NoteEnded) &&
			!slices.ContainsFunc(r.Notes[i:], func(n Note) bool { return n.Kind == NoteExtended || n.Kind == NoteSession })
		if len(r.Trials) < n.Trials || len(r.Trials) > n.Trials && ended {
			return &DamageError{Where: TrialsFile, What: fmt.Sprintf("it has %d whole trials where line %d of %s counts %d: the file was cut off or changed", len(r.Trials), i+1, NotesFile, n.Trials)}
		}
		if n.Head != "" && n.Head != r.trials.marks[n.Trials] {
			return &DamageError{Where: TrialsFile, What: fmt.Sprintf("its first %d lines are not those that line %d of %s counts", n.Trials, i+1, NotesFile)}
		}
	}
	return nil
}

// Trial is one line of trials.jsonl: one finished trial, valid or not.
type Trial struct {
	Seq      int    `json:"seq"`      // running number in the run, from 1
	Session  int    `json:"session"`  // counts up with each resume, from 1
	Round    int    `json:"round"`    // from 1
	Attempt  int    `json:"attempt"`  // within its round, from 1
	Position int    `json:"position"` // place in its block of arms, from 1; 0: not known
	Cell     string `json:"cell"`
	Arm      string `json:"arm"`
	// SetUp is the number of the set-up that it ran in, from 1. It counts up whenever all
	// arms are set up anew, in the session that is resumed as well; 0: not told.
	SetUp int `json:"setUp,omitempty"`
	// Slices is how many slices the trial was cut into, between which other arms ran; 0: none.
	Slices   int           `json:"slices,omitempty"`
	Start    time.Time     `json:"start,omitzero"`     // zero: not told
	Prepared time.Duration `json:"prepared,omitempty"` // of what belongs to the trial and is not measured: the part before, clearing up after the trial before; ns
	Wall     time.Duration `json:"wall"`               // of the measured part, ns; 0: not told
	// Switched says that a layer was turned on or off for everyone just before.
	Switched bool               `json:"switched,omitempty"`
	Values   map[string]float64 `json:"values,omitempty"`
	Invalid  []Violation        `json:"invalid,omitempty"` // empty: a valid trial
	Checks   []layer.Check      `json:"checks,omitempty"`
	// Behaviour is what the programs under test did besides being fast or slow; nil: not told, as by an older Tare.
	Behaviour  workload.Behaviour       `json:"behaviour,omitempty"`
	Conditions machine.Conditions       `json:"conditions,omitzero"` // zero: an imported trial
	Used       map[string]testbed.Usage `json:"used,omitempty"`      // by part: client, server, layer; of layer, KIND:PART and sidecar:ROLE-NAME
	// Resources are what programs share, and how much of it the trial used, or the tries of a search near what it found.
	Resources []testbed.Resource `json:"resources,omitempty"`
	Harness   Harness            `json:"harness,omitzero"`
	Raw       string             `json:"raw,omitempty"`   // directory below the run's; of an imported trial, a file
	Files     map[string]string  `json:"files,omitempty"` // SHA-256 digests of the files in it, by name
	// Source is the file that an invalid imported trial is from, as it was given.
	Source string `json:"source,omitempty"`
}

// Valid says whether the trial is data.
func (t *Trial) Valid() bool { return len(t.Invalid) == 0 }

// Violation is a rule that a trial broke.
type Violation struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// Harness is what Tare itself cost.
type Harness struct {
	CPU    time.Duration `json:"cpu"`    // of Tare's own process during the trial, ns
	Around time.Duration `json:"around"` // wall clock spent on this trial outside the workload, ns
}
