// Package journal reads and writes run directories: the record of finished trials, and the raw output of the tools. The
// record only grows by new lines, and survives kill -9 and a full disk.
package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// Run is the content of a run directory.
type Run struct {
	Dir         string               // the run directory, or the archive of a run
	Experiment  []byte               // the bytes of experiment.yaml, unchanged
	Plan        *experiment.Plan     // plan of the run; numbers whose type is not known are json.Numbers
	Environment *machine.Environment // environment of the first session; nil if none was recorded
	Trials      []Trial              // in the order of Seq
	Notes       []Note               // in the order in which the notes were written
	Sessions    []Session
	Rounds      int // number of rounds that a pilot or an extension has fixed; 0: not fixed
	ExtraRounds int // number of extra rounds, which replace rounds that the machine's condition spoilt
	// Ended is the reason why the last session stopped early. It is "" if the session carried out its plan, or
	// recorded no reason.
	Ended    string
	Finished bool // set if the run is complete; false: the run is in progress or can be resumed

	trialsEnd, notesEnd int64 // lengths of the logs' whole lines, in bytes
	trials, notes       chain
	verified            []string // names of the files whose content matches the recorded digest, except logs and raw files
}

// Session is the part of a run that one process carried out.
type Session struct {
	Number      int // number of the session, from 1
	Start       time.Time
	Environment *machine.Environment // environment of the session; nil if none was recorded
}

// noteKind is the subject of a note.
type noteKind string

// The kinds of notes.
const (
	NoteSession     noteKind = "session"  // a session begins
	NoteRemark      noteKind = "remark"   // a remark for readers of the run
	noteRounds      noteKind = "rounds"   // fixes the number of rounds, after a pilot or for an extension
	NoteSetUps      noteKind = "set-ups"  // the number of rounds per set-up is now fixed
	NoteExtraRounds noteKind = "made-up"  // extra rounds replace rounds that the machine's condition has spoilt
	NoteLeftOut     noteKind = "left-out" // the session continues without an arm
	noteEnded       noteKind = "ended"    // the session ends before the plan is carried out
	NoteDecided     noteKind = "decided"  // every headline comparison is decided at a planned look
	NoteFinished    noteKind = "finished" // the run is complete
	NoteExtended    noteKind = "extended" // a complete run gets further rounds after its results were seen
	noteFiles       noteKind = "files"    // files were written
)

// Note is one line of notes.jsonl: an event of the run.
type Note struct {
	Kind    noteKind  `json:"kind"`
	Session int       `json:"session"`
	Time    time.Time `json:"time"`
	// Rounds is a number of rounds. Its meaning depends on Kind:
	//   - NoteRounds, NoteExtended: rounds of the run.
	//   - NoteSetUps: rounds that share a set-up; 0: all.
	//   - NoteExtraRounds: rounds added.
	//   - NoteDecided: rounds after which the run is decided.
	//   - NoteEnded: rounds that count; 0: the run can be resumed.
	Rounds int    `json:"rounds,omitempty"`
	Arm    string `json:"arm,omitempty"` // with NoteLeftOut: the arm that was left out
	// Trials is the number of trials recorded before this note. The first note lacks it, and so does every note of an
	// older Tare except NoteFinished.
	Trials int `json:"trials,omitempty"`
	// Head is the chain of the last recorded trial. Without trials, it is the start of the trials' chain.
	Head string `json:"head,omitempty"`
	// Files maps the names of files of the run to their SHA-256 digests. The digests replace those of earlier notes.
	Files map[string]string `json:"files,omitempty"`
	Text  string            `json:"text"`
}

// Open reads a run directory, or the archive of a run. It takes no lock and changes nothing. Another process may write
// the run meanwhile: an incomplete last line is ignored.
func Open(dir string) (r *Run, err error) {
	at := dir
	if IsArchive(dir) {
		var remove func() error
		if at, remove, err = Unpack(dir); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil, fmt.Errorf("cannot open the run: %w", err)
	}
	defer root.Close()
	return read(dir, root)
}

// read reads a run without its raw output. It reads notes before trials: if they say that the run is finished, all its
// trials are in the file.
func read(dir string, root *os.Root) (*Run, error) {
	r := &Run{Dir: dir, Plan: &experiment.Plan{}}
	if _, err := root.Stat(PlanFile); errors.Is(err, fs.ErrNotExist) {
		// the trials file is still empty if Create was killed before it wrote the plan
		if trials, err := root.Stat(TrialsFile); err == nil && trials.Size() > 0 {
			return nil, &DamageError{Dir: dir, Where: PlanFile, What: "it is missing"}
		}
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", dir, PlanFile)
	}
	for _, part := range []func(*os.Root) error{r.readPlan, r.readNotes, r.readEnvironments, r.checkChains, r.compareFiles, r.readTrials} {
		if err := part(root); err != nil {
			return nil, asDamage(dir, err)
		}
	}
	return r, nil
}

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
		if err := r.notes.check(line); err != nil {
			return &DamageError{Where: where(), What: err.Error()}
		}
		if len(r.Notes) == 0 && r.mustChain() {
			r.trials.head = trialsStart(n.Files[PlanFile], r.notes.head)
		}
		r.addNote(n)
		return nil
	})
	return err
}

// addNote appends a note and updates the state of the run by it.
func (r *Run) addNote(n Note) {
	r.Notes = append(r.Notes, n)
	switch n.Kind {
	case NoteSession:
		r.Sessions = append(r.Sessions, Session{Number: n.Session, Start: n.Time})
		r.Ended, r.Plan.Ended = "", 0
	case noteRounds:
		r.setRounds(n.Rounds)
	case NoteExtraRounds:
		r.ExtraRounds = n.Rounds
	case NoteExtended:
		r.Plan.Looks = append(r.Plan.Looks, r.Plan.Total())
		r.Ended, r.Plan.Ended = "", 0
		r.setRounds(n.Rounds)
		r.Finished = false
	case noteEnded:
		r.Ended, r.Plan.Ended = n.Text, n.Rounds
	case NoteDecided:
		r.Plan.Decided = n.Rounds
	case NoteFinished:
		r.Finished = true
	}
}

// setRounds sets the total number of rounds, which plan.json does not contain.
func (r *Run) setRounds(rounds int) { r.Rounds, r.Plan.Fixed = rounds, rounds }

// session is the number of the last session; 0 before the first.
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
	r.trials.heads = map[int]string{}
	for _, n := range r.Notes {
		r.trials.heads[n.Trials] = ""
	}
	r.trials.heads[0] = r.trials.head
	if r.Trials, r.trialsEnd, err = parseTrials(f, &r.trials); err != nil {
		return err
	}
	for i, n := range r.Notes {
		if n.Head == "" && n.Trials == 0 { // older versions of Tare noted Head and Trials only when a run finished
			continue
		}
		ended := (n.Kind == NoteFinished || n.Kind == noteEnded) &&
			!slices.ContainsFunc(r.Notes[i:], func(n Note) bool { return n.Kind == NoteExtended || n.Kind == NoteSession })
		if len(r.Trials) < n.Trials || len(r.Trials) > n.Trials && ended {
			return &DamageError{Where: TrialsFile, What: fmt.Sprintf("it has %d whole trials where line %d of %s counts %d: the file was cut off or changed", len(r.Trials), i+1, NotesFile, n.Trials)}
		}
		if n.Head != "" && n.Head != r.trials.heads[n.Trials] {
			return &DamageError{Where: TrialsFile, What: fmt.Sprintf("its first %d lines are not those that line %d of %s counts", n.Trials, i+1, NotesFile)}
		}
	}
	return nil
}

// Trial is one line of trials.jsonl: a finished trial, valid or not.
type Trial struct {
	Seq      int    `json:"seq"`      // number of the trial within the run, from 1
	Session  int    `json:"session"`  // number of the session, from 1
	Round    int    `json:"round"`    // number of the round, from 1
	Attempt  int    `json:"attempt"`  // number of the attempt within the round, from 1
	Position int    `json:"position"` // position among the trials of the cell in this round, from 1; 0: unknown
	Cell     string `json:"cell"`
	Arm      string `json:"arm"`
	// SetUp is the number of the trial's set-up, counted from 1 over all sessions; 0: unknown.
	SetUp int `json:"setUp,omitempty"`
	// Slices is the number of slices of the trial; other arms ran between them. 0: the trial was not cut.
	Slices int       `json:"slices,omitempty"`
	Start  time.Time `json:"start,omitzero"` // start of the trial; zero: unknown
	// Prepared is the unmeasured time, in ns: preparation and end of the trial, and the clean-up after the previous trial.
	Prepared time.Duration `json:"prepared,omitempty"`
	Wall     time.Duration `json:"wall"` // duration of the measured part, in ns; 0: unknown
	// Switched is set if a layer was turned on or off for the whole machine or cluster just before this trial.
	Switched bool               `json:"switched,omitempty"`
	Values   map[string]float64 `json:"values,omitempty"`
	Invalid  []Violation        `json:"invalid,omitempty"` // broken rules; empty: the trial is valid
	Checks   []layer.Check      `json:"checks,omitempty"`
	// Behaviour is the behaviour of the programs under test, such as exit statuses and answers; nil: not recorded, as
	// by an older Tare.
	Behaviour  workload.Behaviour `json:"behaviour,omitempty"`
	Conditions machine.Conditions `json:"conditions,omitzero"` // condition of the machine; zero for an imported trial
	// Used maps parts of the trial to their resource usage: client, server, layer, KIND:PART (a part of a layer) or
	// sidecar:ROLE-NAME.
	Used map[string]testbed.Usage `json:"used,omitempty"`
	// Resources lists how much of each shared resource, such as processors, the trial used. A search counts only its
	// tries near the result.
	Resources []testbed.Resource `json:"resources,omitempty"`
	// Quotas maps observed components to how near they came to their limits of CPU and memory.
	Quotas  map[string]testbed.Quota `json:"quotas,omitempty"`
	Harness Harness                  `json:"harness,omitzero"`
	// Raw is the path of the raw output, relative to the run directory. It is a directory, or the file of an
	// imported trial.
	Raw    string            `json:"raw,omitempty"`
	Files  map[string]string `json:"files,omitempty"`  // names of the files in Raw, with their SHA-256 digests
	Source string            `json:"source,omitempty"` // path of the imported file, as the user gave it; only in an invalid trial
}

// Valid reports whether the trial broke no rule. Only valid trials are data.
func (t *Trial) Valid() bool { return len(t.Invalid) == 0 }

// Violation is a rule that a trial broke.
type Violation struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// Harness is the time that Tare itself used for a trial.
type Harness struct {
	CPU    time.Duration `json:"cpu"`    // CPU time of Tare's own process during the trial, in ns
	Around time.Duration `json:"around"` // wall-clock time spent on this trial outside the workload, in ns
}
