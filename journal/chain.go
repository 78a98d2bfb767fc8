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
)

// The record proves that it is whole. Each line of trials.jsonl and notes.jsonl ends
// with its chain: the SHA-256 of the chain of the line before and of the line itself.
// The first note holds the digests of the plan and the experiment, each trial those of
// its raw output, and the last note the chain of the last trial. Who changes a line, or
// takes one away, has to change every later one.
//
// That shows damage and careless edits. It is no signature: who writes the whole
// record anew, can. A chain that was published before shows that, too.

// DamageError is a record that is not as it was written.
type DamageError struct {
	Dir   string // the run directory
	Where string // file, or file:line
	What  string
}

// Error says where the damage is.
func (e *DamageError) Error() string {
	return fmt.Sprintf("run %s is damaged: %s: %s; take a whole copy of the run", e.Dir, e.Where, e.What)
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
	Files         int    // raw files whose content is as it was
	Unchecked     int    // raw files of which no digest is on record
	Chain         string // of the last note; "" where the record has none

	vouched []string // those that are counted in Files
}

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
	v.Trials, v.Notes, v.Chain = len(r.Trials), len(r.Notes), r.notes.head
	for _, log := range []struct {
		name  string
		whole int64
	}{{NotesFile, r.notesEnd}, {TrialsFile, r.trialsEnd}} {
		if info, err := root.Stat(log.name); err == nil && info.Size() > log.whole {
			return r, v, &DamageError{Dir: dir, Where: log.name, What: fmt.Sprintf("its last line is not whole (%d bytes)", info.Size()-log.whole)}
		}
	}
	imported, err := verifyImported(root, &v)
	var damage *DamageError
	if errors.As(err, &damage) {
		damage.Dir = dir
		return r, v, damage
	}
	if err != nil {
		return r, v, &DamageError{Dir: dir, Where: FilesFile, What: err.Error()}
	}
	if imported != nil { // that is all there is of the trials
		return r, v, v.unknown(root, imported)
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		if err := verifyRaw(root, t, &v); err != nil {
			return r, v, &DamageError{Dir: dir, Where: fmt.Sprintf("%s:%d", TrialsFile, i+1), What: err.Error()}
		}
	}
	return r, v, nil
}

// verifyRaw compares the raw output of a trial with its digests.
func verifyRaw(root *os.Root, t *Trial, v *Verified) error {
	if t.Raw == "" {
		return nil
	}
	entries, err := fs.ReadDir(root.FS(), t.Raw)
	if err != nil && len(t.Files) == 0 { // nothing was kept
		v.Unchecked++
		return nil
	}
	for _, e := range entries {
		if _, known := t.Files[e.Name()]; !known {
			v.Unchecked++
		}
	}
	for name, wanted := range t.Files {
		if err := v.compare(root, path.Join(t.Raw, name), wanted); err != nil {
			return err
		}
	}
	return nil
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
