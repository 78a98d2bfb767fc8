package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"

	"tare/internal/experiment"
	"tare/internal/version"
)

// Each line of trials.jsonl and notes.jsonl ends with its chain: the SHA-256 of the previous line's chain and of the
// line itself. The first note holds the digests of the plan and the experiment. Each trial holds the digests of its raw
// output. The chain of the trials starts from the plan and the first note, and so differs in every run. Every later
// note holds the number of trials so far and the chain of the last trial. Whoever changes or removes a line must change
// every later line.
//
// The chain reveals damage and careless edits. It is no signature: a forger can write the whole record anew. A chain
// that was published or signed earlier reveals even a forgery.
//
// Before version 2 of the plan, the chain of the trials started empty, and only the last note held the chain of the
// last trial. The oldest runs have no chains.

// DamageError reports that a record differs from what was written.
type DamageError struct {
	Dir   string // the run directory
	Where string // file, or file:line; "": the text What says where
	What  string
}

// Error describes the damage and its position.
func (e *DamageError) Error() string {
	return fmt.Sprintf("run %s is damaged: %s; take a whole copy of the run", e.Dir, e.Found())
}

// Found describes the damage without the name of the run.
func (e *DamageError) Found() string {
	if e.Where == "" {
		return e.What
	}
	return e.Where + ": " + e.What
}

// asDamage turns an error in reading a run into a *DamageError. An error that is not due to the files, such as a
// missing permission, only gets the run's name.
func asDamage(dir string, err error) error {
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

// mustChain reports whether the plan's version requires chains.
func (r *Run) mustChain() bool { return r.Plan.Schema != experiment.PlanSchemaV1 }

// trialsStart returns the start of the trials' chain.
func trialsStart(plan, note string) string { return link(plan, []byte(note)) }

// checkChains returns an error if the record lacks chains or the plan's digest, although the version of Tare that began
// the run writes them.
func (r *Run) checkChains(*os.Root) error {
	always := r.mustChain() || r.Plan.Version == version.String() ||
		// A run that began without chains continues without them. So the version of Tare that began the run decides
		// whether chains must exist.
		r.Environment != nil && r.Environment.TareVersion == version.String()
	switch {
	case len(r.Notes) == 0:
		return &DamageError{Where: NotesFile, What: "its first line is missing"}
	case always && !r.notes.sealed, r.mustChain() && r.Notes[0].Files[PlanFile] == "":
		return &DamageError{Where: NotesFile, What: "its lines have no chains, or not the digest of the plan, which the Tare that made the run always writes"}
	}
	return nil
}

const (
	chainBegins = `,"chain":"`
	chainEnds   = `"}`
	chainSize   = len(chainBegins) + 2*sha256.Size + len(chainEnds)
)

// seal adds the chain to a line, which is a JSON object.
func seal(line []byte, before string) (sealed []byte, chain string) {
	body := bytes.TrimSuffix(line, []byte("}"))
	chain = link(before, body)
	return append(slices.Clip(body), chainBegins+chain+chainEnds...), chain
}

// link returns the chain of a line. The argument body is the line without its chain.
func link(before string, body []byte) string {
	sum := sha256.Sum256(slices.Concat([]byte(before), body))
	return hex.EncodeToString(sum[:])
}

// unseal splits a line into its body and its chain. Without a chain, it returns "".
func unseal(line []byte) (body []byte, chain string) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := len(line) - chainSize
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(chainBegins)) || !bytes.HasSuffix(line, []byte(chainEnds)) {
		return line, ""
	}
	return line[:at], string(line[at+len(chainBegins) : len(line)-len(chainEnds)])
}

// chain checks the chains of a log's lines, one by one. Either every line has a chain, or none: an old version of Tare
// wrote none.
type chain struct {
	sealed bool   // whether the lines have chains
	head   string // chain of the last line
	lines  int
	heads  map[int]string // the caller sets line numbers as keys, and check adds the chains of these lines
}

// check returns an error if the next line's chain does not fit the lines before.
func (c *chain) check(line []byte) error {
	body, own := unseal(line)
	switch {
	case c.sealed != (own != ""):
		return errors.New("a line without its chain among lines with one")
	case c.sealed && own != link(c.head, body):
		return errors.New("this line or the one before was changed, or lines are missing")
	}
	c.head = own
	c.lines++
	if _, asked := c.heads[c.lines]; asked {
		c.heads[c.lines] = own
	}
	return nil
}

// compareFiles compares the run's files with the digests in its notes. Any digest of a replaced file is accepted, since
// its new digest is noted before it is written.
func (r *Run) compareFiles(root *os.Root) error {
	known := map[string][]string{}
	for _, n := range r.Notes {
		for name, d := range n.Files {
			known[name] = append(known[name], d)
		}
	}
	r.verified = slices.Sorted(maps.Keys(known))
	for _, name := range r.verified {
		got, err := digest(root, name)
		if err == nil && !slices.Contains(known[name], got) {
			err = errors.New("it is not as it was written")
		}
		if err != nil {
			return &DamageError{Dir: r.Dir, Where: name, What: err.Error()}
		}
	}
	return nil
}

// Chain returns the chain of the last note, which stands for the whole run. It is "" if the record has no chains.
func (r *Run) Chain() string { return r.notes.head }
