package journal

import (
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
	"slices"
)

// verified is the result of Verify. It says which parts of a run were checked.
type verified struct {
	Trials, Notes int
	Files         int      // number of raw files with unchanged content
	Unchecked     []string // raw files without a recorded digest
	Absent        int      // number of trials whose raw output is not here, since the run has no RawDir
	Chain         string   // chain of the last note; "" if the record has no chains

	head     bool     // set if the run has no RawDir: only its record can be checked
	verified []string // names of the files counted in Files
}

// Verify compares all files of a run, raw output included, with their recorded digests. A run without RawDir is a head,
// of which the record is compared. If RawDir is there, all raw files must be there. The error is a *DamageError unless
// the run cannot be read.
func Verify(dir string) (*Run, verified, error) {
	var v verified
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
	_, err = root.Lstat(RawDir)
	v.head = errors.Is(err, fs.ErrNotExist)
	for _, log := range []struct {
		name  string
		whole int64
	}{{NotesFile, r.notesEnd}, {TrialsFile, r.trialsEnd}} {
		if info, err := root.Stat(log.name); err == nil && info.Size() > log.whole {
			return r, v, &DamageError{Dir: dir, Where: log.name, What: fmt.Sprintf("its last line is not whole (%d bytes)", info.Size()-log.whole)}
		}
	}
	if err := r.inOrder(); err != nil {
		return r, v, asDamage(dir, err)
	}
	if r.Plan.Import != nil {
		if err := verifyImported(root, &v); err != nil {
			return r, v, asDamage(dir, err)
		}
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		if v.head && t.Raw != "" {
			v.Absent++
		}
		for _, name := range slices.Sorted(maps.Keys(t.Files)) {
			if err := v.compare(root, path.Join(t.Raw, name), t.Files[name]); err != nil {
				return r, v, &DamageError{Dir: dir, Where: fmt.Sprintf("%s:%d", TrialsFile, i+1), What: err.Error()}
			}
		}
	}
	if err := v.findUnchecked(root); err != nil {
		return r, v, asDamage(dir, err)
	}
	return r, v, nil
}

// inOrder checks that the trials of each session are in the order of the plan's seed: by round, cell, attempt and arm.
func (r *Run) inOrder() error {
	if !r.mustChain() || r.Plan.Import != nil || len(r.Plan.Arms) == 0 {
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

// findUnchecked adds the raw files without a recorded digest to Unchecked.
func (v *verified) findUnchecked(root *os.Root) error {
	known := map[string]bool{}
	for _, name := range v.verified {
		known[name] = true
	}
	return fs.WalkDir(root.FS(), RawDir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == RawDir && errors.Is(err, fs.ErrNotExist): // a run may have no raw files
			return nil
		case err == nil && !d.IsDir() && !known[name]:
			v.Unchecked = append(v.Unchecked, name)
		}
		return err
	})
}

// compare compares a raw file with its digest. A head has no raw file to compare.
func (v *verified) compare(root *os.Root, name, wanted string) error {
	if v.head {
		return nil
	}
	got, err := digest(root, name)
	if err != nil {
		return err
	}
	if got != wanted {
		return fmt.Errorf("its raw output %s is not as it was written", name)
	}
	v.Files++
	v.verified = append(v.verified, path.Clean(name))
	return nil
}

// Content is a file of a run. The run's record has the file's digest.
type Content struct {
	Name   string // path relative to the run directory, with slashes
	Size   int64  // size in bytes
	SHA256 string // digest, in hexadecimal
}

// ErrNoChain is the error for a run without chains. Such a run cannot be verified.
var ErrNoChain = errors.New("its record has no chain, since an older Tare made this run: changes of it cannot be detected")

// Contents verifies a run and lists the verified files by name. A damaged run gives a *DamageError. A run without
// chains gives ErrNoChain, beside the Run.
func Contents(dir string) (*Run, []Content, error) {
	r, v, err := Verify(dir)
	if err != nil {
		return nil, nil, err
	}
	if v.Chain == "" {
		return r, nil, fmt.Errorf("run %s: %w", dir, ErrNoChain)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// A session may add lines while this function runs. So only the lines that were checked belong to the content.
	sizes := map[string]int64{TrialsFile: r.trialsEnd, NotesFile: r.notesEnd}
	for _, name := range slices.Concat(r.verified, v.verified) {
		sizes[name] = math.MaxInt64
	}
	if isFile(dir, SignatureFile) { // no note has a digest of the signature, so the signature is added here
		sizes[SignatureFile] = math.MaxInt64
	}
	var all []Content
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if !fs.ValidPath(name) {
			return nil, nil, &DamageError{Dir: dir, Where: NotesFile, What: fmt.Sprintf("it names a file %q", name)}
		}
		c, err := copyContent(root, io.Discard, name, sizes[name])
		if err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", dir, err)
		}
		all = append(all, c)
	}
	return r, all, nil
}

// Copy writes the content of a listed file to w. If the file has changed since Contents listed it, the error is a
// *DamageError.
func (c Content) Copy(w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	got, err := copyContent(root, w, c.Name, c.Size)
	if err == nil && got != c {
		err = &DamageError{Dir: dir, Where: c.Name, What: "it was changed while it was read"}
	}
	return err
}

// copyContent writes the first size bytes of a file to w, or the complete file if it is shorter. The result describes
// what was written.
func copyContent(root *os.Root, w io.Writer, name string, size int64) (Content, error) {
	f, err := openFile(root, name, math.MaxInt64)
	if err != nil {
		return Content{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(f, size))
	return Content{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

func digest(root *os.Root, name string) (string, error) {
	c, err := copyContent(root, io.Discard, name, math.MaxInt64)
	return c.SHA256, err
}

// FilesFile is the list of imported files, one ImportedFile a line. Only imported runs have it.
const FilesFile = "files.jsonl"

// FileSchema is the schema of a line of FilesFile.
const FileSchema = "tare.file/v1"

// ImportedFile is a file that an import read.
type ImportedFile struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`             // path as given; "-": standard input
	Arm    string `json:"arm,omitempty"`    // the user's name for the arm; "": the file names its arms
	Bytes  int64  `json:"bytes"`            // number of bytes read; for a file too large to be read, its size
	SHA256 string `json:"sha256,omitempty"` // "": the file was not read to its end
	Raw    string `json:"raw,omitempty"`    // path of the copy, relative to the run directory
	// Within lists the files that hold time series or histograms of the trials. It maps their paths, relative to the
	// run directory, to SHA-256 digests.
	Within map[string]string `json:"within,omitempty"`
	Trials int               `json:"trials"`
	Broken string            `json:"broken,omitempty"` // reason why the file gave no trials
}

func verifyImported(root *os.Root, v *verified) error {
	f, err := openFile(root, FilesFile, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	known := map[string]bool{}
	_, err = eachLine(f, FilesFile, func(line []byte, where func() string) error {
		var file ImportedFile
		if err := decode(line, where(), FileSchema, &file); err != nil {
			return err
		}
		digests := file.Within
		if file.Raw != "" && file.SHA256 != "" {
			if digests == nil {
				digests = map[string]string{}
			}
			digests[file.Raw] = file.SHA256
		}
		for name, wanted := range digests {
			if known[name] {
				return &DamageError{Where: where(), What: fmt.Sprintf("%s is there twice", name)}
			}
			known[name] = true
			err := v.compare(root, name, wanted)
			if errors.Is(err, fs.ErrNotExist) && neverCopied(root, &file) {
				continue
			}
			if err != nil {
				return &DamageError{Where: where(), What: err.Error()}
			}
		}
		return nil
	})
	return err
}

// neverCopied reports whether the record names a copy that was never made. Older Tares recorded a copy even if they
// kept only series or histograms of the file.
func neverCopied(root *os.Root, f *ImportedFile) bool {
	return len(f.Within) == 0 && slices.ContainsFunc([]string{".series.json", ".histograms.json"}, func(name string) bool {
		_, err := root.Stat(f.Raw + name)
		return err == nil
	})
}
