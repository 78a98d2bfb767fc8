package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"tare/experiment"
	"tare/version"
)

// The record proves that it is whole. Each line of trials.jsonl and notes.jsonl ends
// with its chain: the SHA-256 of the chain of the line before and of the line itself.
// The first note holds the digests of the plan and the experiment, and each trial those of
// its raw output. The chain of the trials begins with the plan and the first note, so that
// it is that of no other run, and every later note holds the number of trials so far and
// the chain of the last one. Who changes a line, or takes one away, has to change every
// later one.
//
// That shows damage and careless edits. It is no signature: who writes the whole
// record anew, can. A chain that was published or signed before shows that, too.
//
// Before version 2 of the plan, the chain of the trials began with nothing, only the note
// of the end told of it, and the oldest runs have no chains.

// DamageError is a record that is not as it was written.
type DamageError struct {
	Dir   string // the run directory
	Where string // file, or file:line; "": What says it
	What  string
}

// Error says where the damage is.
func (e *DamageError) Error() string {
	return fmt.Sprintf("run %s is damaged: %s; take a whole copy of the run", e.Dir, e.Found())
}

// Found says what was found, without the name of the run.
func (e *DamageError) Found() string {
	if e.Where == "" {
		return e.What
	}
	return e.Where + ": " + e.What
}

// damaged says whether an error in reading a run is damage: all are but those of the reader.
func damaged(dir string, err error) error {
	var damage *DamageError
	var file *fs.PathError
	switch {
	case errors.As(err, &damage):
		damage.Dir = dir
		return damage
	case errors.As(err, &file) && errors.Is(err, fs.ErrNotExist):
		return &DamageError{Dir: dir, Where: file.Path, What: "it is missing"}
	case errors.Is(err, errNewer), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOMEM), exhausted(err):
		return fmt.Errorf("run %s: %w", dir, err)
	}
	return &DamageError{Dir: dir, What: err.Error()}
}

// bound says that the record always has chains, and that that of the trials begins with the
// plan and the first note.
func (r *Run) bound() bool { return r.Plan.Schema != experiment.PlanSchemaV1 }

// trialsBegin is what the chain of the trials begins with.
func trialsBegin(plan, note string) string { return link(plan, []byte(note)) }

// proves says what the record lacks to prove itself, where the Tare that made it writes that.
func (r *Run) proves(*os.Root) error {
	always := r.bound() || r.Plan.Version == version.String() ||
		r.Environment != nil && r.Environment.TareVersion == version.String() // of the first session: what has no chains goes on so
	switch {
	case len(r.Notes) == 0:
		return &DamageError{Where: NotesFile, What: "its first line is missing"}
	case always && !r.notes.sealed, r.bound() && r.Notes[0].Files[PlanFile] == "":
		return &DamageError{Where: NotesFile, What: "its lines have no chains, or not the digest of the plan, which the Tare that made the run always writes"}
	}
	return nil
}

const (
	chainBegins = `,"chain":"`
	chainEnds   = `"}`
	chainSize   = len(chainBegins) + 2*sha256.Size + len(chainEnds)
)

// seal puts the chain at the end of a line, which is a JSON object.
func seal(line []byte, before string) (sealed []byte, chain string) {
	body := bytes.TrimSuffix(line, []byte("}"))
	chain = link(before, body)
	return append(slices.Clip(body), chainBegins+chain+chainEnds...), chain
}

// link is the chain of a line without its own.
func link(before string, body []byte) string {
	h := sha256.New()
	_, _ = io.WriteString(h, before)
	_, _ = h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// unseal takes the chain off a line as it was read; it is "" where the line has none.
func unseal(line []byte) (body []byte, chain string) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := len(line) - chainSize
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(chainBegins)) || !bytes.HasSuffix(line, []byte(chainEnds)) {
		return line, ""
	}
	return line[:at], string(line[at+len(chainBegins) : len(line)-len(chainEnds)])
}

// chain follows the lines of a log. All lines of a record have a chain, or none has:
// those that an older Tare began have none.
type chain struct {
	sealed bool   // the record has chains
	head   string // of the last line
	lines  int
	marks  map[int]string // the heads after so many lines, where asked for
}

// follow takes the next line.
func (c *chain) follow(line []byte) error {
	body, own := unseal(line)
	switch {
	case c.sealed != (own != ""):
		return errors.New("a line without its chain among lines with one")
	case c.sealed && own != link(c.head, body):
		return errors.New("this line or the one before was changed, or lines are missing")
	}
	c.head = own
	c.lines++
	if _, asked := c.marks[c.lines]; asked {
		c.marks[c.lines] = own
	}
	return nil
}

// digest is the SHA-256 of a file of the run.
func digest(root *os.Root, name string) (string, error) {
	f, err := openFile(root, filepath.FromSlash(name), math.MaxInt64)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digests are those of the files that exist, by name.
func digests(root *os.Root, names ...string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range names {
		d, err := digest(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[name] = d
	}
	return all, nil
}

// compareFiles compares the files of the run with the digests in its notes. A file may
// have more than one: it is written after the note that tells of it.
func (r *Run) compareFiles(root *os.Root) error {
	known := map[string][]string{}
	for _, n := range r.Notes {
		for name, d := range n.Files {
			known[name] = append(known[name], d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		wanted := known[name]
		r.vouched = append(r.vouched, name)
		got, err := digest(root, name)
		if err == nil && !slices.Contains(wanted, got) {
			err = errors.New("it is not as it was written")
		}
		if err != nil {
			return &DamageError{Dir: r.Dir, Where: name, What: err.Error()}
		}
	}
	return nil
}

// Verified is what Verify has checked.
type Verified struct {
	Trials, Notes int
	Files         int      // raw files whose content is as it was
	Unchecked     []string // raw files of which no digest is on record
	Chain         string   // of the last note; "" where the record has none

	vouched []string // those that are counted in Files
}

// Chain is that of the last note, which stands for the whole run; "" where it has none.
func (r *Run) Chain() string { return r.notes.head }

// Verify compares everything that a run holds with what its record says, the raw output
// too. An error is a *DamageError, or says that the run cannot be read.
func Verify(dir string) (*Run, Verified, error) {
	var v Verified
	r, err := Open(dir)
	if err != nil {
		return nil, v, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, v, err
	}
	defer root.Close()
	v.Trials, v.Notes, v.Chain = len(r.Trials), len(r.Notes), r.Chain()
	for _, log := range []struct {
		name  string
		whole int64
	}{{NotesFile, r.notesEnd}, {TrialsFile, r.trialsEnd}} {
		if info, err := root.Stat(log.name); err == nil && info.Size() > log.whole {
			return r, v, &DamageError{Dir: dir, Where: log.name, What: fmt.Sprintf("its last line is not whole (%d bytes)", info.Size()-log.whole)}
		}
	}
	if err := r.inOrder(); err != nil {
		return r, v, damaged(dir, err)
	}
	if r.Plan.Import != nil {
		if err := verifyImported(root, &v); err != nil {
			return r, v, damaged(dir, err)
		}
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		for _, name := range slices.Sorted(maps.Keys(t.Files)) {
			if err := v.compare(root, path.Join(t.Raw, name), t.Files[name]); err != nil {
				return r, v, &DamageError{Dir: dir, Where: fmt.Sprintf("%s:%d", TrialsFile, i+1), What: err.Error()}
			}
		}
	}
	if err := v.findUnchecked(root); err != nil {
		return r, v, damaged(dir, err)
	}
	return r, v, nil
}

// inOrder compares the order of the trials with the one that the plan draws from its seed: in
// every session one round after the other, the cells of a round, attempts at a cell, and arms.
func (r *Run) inOrder() error {
	if !r.bound() || r.Plan.Import != nil || len(r.Plan.Arms) == 0 {
		return nil
	}
	round, steps, before := 0, map[[2]string]int{}, []int(nil)
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Round != round {
			round = t.Round
			clear(steps)
			for at, s := range r.Plan.Order(max(round, 1)) {
				steps[[2]string{r.Plan.Cells[s.Cell].ID, r.Plan.Arms[s.Arm].Name}] = at
			}
		}
		at, planned := steps[[2]string{t.Cell, t.Arm}]
		place := []int{t.Session, t.Round, at * len(r.Plan.Cells) / max(len(steps), 1), t.Attempt, at}
		if !planned || round < 1 || slices.Compare(before, place) >= 0 {
			return &DamageError{Where: fmt.Sprintf("%s:%d", TrialsFile, i+1), What: fmt.Sprintf("by the seed of %s, %s in cell %s does not follow here in round %d", PlanFile, t.Arm, t.Cell, t.Round)}
		}
		before = place
	}
	return nil
}

// findUnchecked finds the raw files that nothing was compared with.
func (v *Verified) findUnchecked(root *os.Root) error {
	known := map[string]bool{}
	for _, name := range v.vouched {
		known[name] = true
	}
	err := fs.WalkDir(root.FS(), RawDir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[name] {
			v.Unchecked = append(v.Unchecked, name)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // nothing was kept
		return nil
	}
	return err
}

// compare compares a raw file with its digest.
func (v *Verified) compare(root *os.Root, name, wanted string) error {
	got, err := digest(root, name)
	if err != nil {
		return err
	}
	if got != wanted {
		return fmt.Errorf("its raw output %s is not as it was written", name)
	}
	v.Files++
	v.vouched = append(v.vouched, path.Clean(name))
	return nil
}
