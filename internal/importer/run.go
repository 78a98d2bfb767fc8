package importer

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
)

// Options are the files, the names and the settings of an import.
type Options struct {
	Format   Format    // the files' format, or Auto, which finds each file's format by its content
	Known    []Format  // all formats: Auto uses them, and the hint about files of another tool names them
	Sources  []Source  // arms and their files; the first arm is the baseline, unless Baseline names another one
	Stdin    io.Reader // the content of the file "-"
	Baseline string    // the name of the baseline; "": the first arm that is no control
	PairBy   pairing
	Layout   *Layout      // layout of the paths, which replaces Sources; nil: no layout
	Factors  []pathFactor // factors whose levels stand in the paths of the files
	Allow    []string     // settings of the workload that may differ between arms
	Headline []string     // metrics that are headlines, instead of those that the format marks
	Strict   bool         // end the import at the first broken file
	NoRaw    bool         // keep no copies of the files

	Start time.Time // the start of trials whose files contain no time; zero: unknown

	// The following fields are copied into the plan.
	Name        string
	Version     string // the version of Tare
	Labels      experiment.Labels
	Map         string // the mapping file of Format; "": none
	Command     string // the command line that repeats the import
	Limits      experiment.Limits
	Confidence  quantity.Percent
	Equivalence quantity.Percent
	Power       quantity.Percent

	// Progress is called after each file with the number of files done and of all files; nil: it is not called.
	Progress func(done, files int)
}

// Result summarises an import for output.
type Result struct {
	Files    int            `json:"files"`
	Broken   int            `json:"broken"` // number of files that gave no trial because they are broken
	Trials   int            `json:"trials"` // number of trials, valid or not, with those that broken files should have had
	Valid    int            `json:"valid"`
	ByRule   map[string]int `json:"byRule,omitempty"`   // the number of invalid trials, by rule
	Problems []Problem      `json:"problems,omitempty"` // the first problems
	More     int            `json:"more,omitempty"`     // the number of problems that Problems does not list
	Remarks  []string       `json:"remarks,omitempty"`
}

// Problem describes a file that gave no trial, or an invalid trial.
type Problem struct {
	File   string `json:"file"`
	Cell   string `json:"cell,omitempty"` // "": the whole file
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

func (p Problem) String() string {
	if p.Cell == "" {
		return p.File + ": " + p.Reason
	}
	return p.File + ": " + p.Cell + ": " + p.Reason
}

const mostProblems = 10

// Run imports files into a new run directory, which has a temporary name until it is complete. If Run fails, it removes
// the directory, but returns a result if reading had begun.
func Run(ctx context.Context, dir string, o Options) (*Result, error) {
	search, err := o.find()
	if err != nil {
		return nil, err
	}
	defer search.close()
	if o.Format.Name == Auto {
		if o.Format, err = search.detect(ctx, o.Known, o.Stdin); err != nil {
			return nil, err
		}
		if o.Name == Auto { // the user gave no name, so the run is called after the formats that were found
			o.Name = o.Format.Name
		}
	}
	if err := checkAllowed(o.Allow, o.Format); err != nil {
		return nil, err
	}
	if o.Format.Serial && o.PairBy.how == byRound {
		return nil, misuse("without --pair-by, they are independent samples",
			"cannot pair by %s: %s makes its trials one after the other, and those of the same number have nothing in common", byRound, o.Format.Name)
	}
	if err := o.identify(search.files); err != nil {
		return nil, err
	}
	bulk, err := journal.NewBulk(dir)
	if err != nil {
		return nil, err
	}
	r := &run{
		Options: o, bulk: bulk, taken: map[trialKey]int{},
		files: search.files, oneFileEach: oneFileEach(search.files), duplicates: duplicates{first: map[[sha256.Size]byte][]int{}, files: map[string]int{}},
		result: &Result{Files: len(search.files), ByRule: map[string]int{}, Remarks: search.remarks},
	}
	if err := r.all(ctx); err != nil {
		if len(r.others.list) > 0 && r.result.Valid == 0 {
			err = &DataError{hinted{err, r.readers()}}
		}
		if r.roundless > 0 && r.result.Valid == 0 && r.roundless == len(r.result.Problems)+r.result.More {
			err = &UsageError{hinted{err, "the files do not tell the round: pair by index, by name, or by an expression with what names the round in parentheses, as in 'round-([0-9]+)'"}}
		}
		return r.result, errors.Join(err, bulk.Discard())
	}
	return r.result, nil
}

type run struct {
	Options
	bulk        *journal.Bulk
	manifest    *journal.BulkFile // the list of the imported files; only one goroutine writes to it
	lines       *bufio.Writer     // buffer for writing manifest
	files       []inputFile
	oneFileEach bool                           // set if there are several arms and each is one file
	rounds      ordered[nthTrial, pairedRound] // rounds that pair files, by number; each also has a label
	cells       cells
	arms        arms
	unnamed     []string         // paths that the user gave without an arm: their files name arms themselves, or there is one arm
	taken       map[trialKey]int // index of the file with a trial; only if trials are paired by the rounds in the files
	duplicates  duplicates
	leftOut     ordered[string, omission] // the omissions, by metric
	broken      []brokenFile
	beside      []int                   // the files that a tool writes beside its results
	roundless   int                     // the number of files that contain no round, although trials are paired by round
	others      ordered[string, string] // by other format: the path of the first broken file that this format can read
	merged      int                     // largest number of trials of one file that were merged into one (Format.Serial)
	looked      int                     // the number of broken files that were tried with other formats
	result      *Result
}

// trialKey identifies a trial by the indices of its arm and cell and by its round.
type trialKey struct{ arm, cell, round int }

func (r *run) all(ctx context.Context) (err error) {
	if r.manifest, err = r.bulk.Create(journal.FilesFile); err != nil {
		return err
	}
	r.lines = bufio.NewWriter(r.manifest)
	for _, s := range r.Sources {
		from := &r.unnamed
		if s.Arm != "" {
			from = &r.arms.named(s.Arm).from
		}
		*from = append(*from, s.From...)
	}
	if err := r.readAll(ctx); err != nil {
		return err
	}
	return r.finish()
}

// finish writes what is known only after all files were read, such as the plan.
func (r *run) finish() error {
	if n := len(r.beside); n > 0 {
		r.remark("%s passed over that hold no result, but are written beside one; the first is %s", plural(n, "file"), r.files[r.beside[0]].path)
	}
	r.remarkDuplicates()
	for _, o := range r.leftOut.list {
		r.remark("%s of %s left out, the first in %s: values that are zero, negative or not finite have no ratio; %s",
			plural(o.values, "value"), o.metric, o.first, differences)
	}
	if r.merged > 1 {
		r.remark("files hold up to %d readings of a cell that %s made one after the other: paired, a file is one trial with their median", r.merged, r.Format.Name)
	}
	if r.result.Valid == 0 {
		return fmt.Errorf("no valid trial in %s", plural(len(r.files), "file"))
	}
	if err := r.cells.headline(r.Headline); err != nil {
		return err
	}
	arms, err := r.arms.inOrder(r.Baseline)
	if err != nil {
		return err
	}
	for _, a := range arms {
		if a.files == 0 {
			return misuse("", "no result in any file of arm %s", a.name)
		}
	}
	for _, step := range []func([]*arm) error{r.addBroken, r.comparable, r.partners} {
		if err := step(arms); err != nil {
			return err
		}
	}
	r.remarkSettings(arms)
	r.remarkRepeats()
	if err := errors.Join(r.lines.Flush(), r.manifest.Close()); err != nil {
		return err
	}
	r.result.Trials = r.bulk.Trials()
	return r.bulk.Finish(r.plan(arms), r.result.Remarks)
}

func (r *run) remark(format string, args ...any) {
	r.result.Remarks = append(r.result.Remarks, fmt.Sprintf(format, args...))
}

func (r *run) plan(arms []*arm) *experiment.Plan {
	p := &experiment.Plan{
		Version: r.Version, Name: r.Name, Labels: r.Labels, Testbed: experiment.TestbedImport,
		Import: &experiment.Import{Tool: r.Format.Name, PairBy: r.PairBy.String(), Command: r.Command, Map: r.Map,
			Settings: r.settings(), Allowed: r.Allow},
		Confidence: r.Confidence, Equivalence: r.Equivalence, Power: r.Power, Attempts: 1, Limits: r.Limits,
		Cells: r.cells.plan(r.Format.Settings),
	}
	if r.Layout != nil {
		p.Import.Blocks = r.Layout.blocks
	}
	unnamed := slices.Compact(r.unnamed)
	all := map[int]bool{}
	for i, a := range arms {
		role := experiment.Treatment
		switch {
		case i == 0:
			role = experiment.Baseline
		case a.name == experiment.ControlName:
			role = experiment.Control
		}
		p.Arms = append(p.Arms, experiment.PlannedArm{Name: a.name, Role: role, Layers: []experiment.PlannedLayer{}})
		from := a.from
		if len(from) == 0 {
			from = unnamed
		}
		p.Import.Arms = append(p.Import.Arms, experiment.ImportedArm{Name: a.name, From: from, Files: a.files, Facts: a.facts})
		for round := range a.rounds {
			all[round] = true
		}
	}
	p.Rounds = len(all)
	return p
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

type hinted struct {
	Err  error
	Hint string // advice for the user; may be empty
}

func (e *hinted) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *hinted) Unwrap() error { return e.Err }

// UsageError is an error in the options of an import, such as a name that no file has.
type UsageError struct{ hinted }

// DataError is an error about all files together, such as that none holds a result.
type DataError struct{ hinted }

func misuse(hint, format string, args ...any) error {
	return &UsageError{hinted{fmt.Errorf(format, args...), hint}}
}

// FileImport is the import of one file into a run of its own.
type FileImport struct {
	File, Directory string
	Result          *Result // nil: the import failed, or the run exists already
	Err             error   // the reason why there is no run
}

// Each imports every file of a source into its own run below dir, named after the file; existing runs are kept. A
// trial's start defaults to the file's last modification. An error is returned with Strict, or if no file gives a run.
func Each(ctx context.Context, dir string, o Options, done func(FileImport)) error {
	if len(o.Sources) != 1 {
		return misuse("give the files of one arm, or import arms into one run each", "one run of each file holds one arm, not %d", len(o.Sources))
	}
	source := o.Sources[0]
	search, err := find(o.Sources, o.Format.Extensions)
	if err != nil {
		return err
	}
	search.close()
	taken := map[string]string{} // path of the file, by the name of its run
	made := 0
	var last error
	for _, f := range search.files {
		if f.waits {
			return misuse("give files by their names", "%s has no name that a run could be called by", f.path)
		}
		name := strings.TrimLeft(experiment.FileName(strings.TrimSuffix(filepath.ToSlash(f.name), filepath.Ext(f.name))), ".-")
		one := FileImport{File: f.path, Directory: filepath.Join(dir, name)}
		if other, ok := taken[name]; ok || name == "" {
			return misuse("give directories in which the files have different names", "%s and %s would both be the run %s", other, f.path, one.Directory)
		}
		taken[name] = f.path
		switch {
		case f.refused != "":
			one.Err = errors.New(f.refused)
		case !journal.IsRun(one.Directory):
			o.Sources = []Source{{Arm: source.Arm, From: []string{f.path}}}
			if info, err := os.Stat(f.path); err == nil {
				o.Start = info.ModTime()
			}
			one.Result, one.Err = Run(ctx, one.Directory, o)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, wrong := errors.AsType[*UsageError](one.Err); wrong || o.Strict && one.Err != nil {
			return one.Err
		}
		if one.Err == nil {
			made++
		}
		last = one.Err
		done(one)
	}
	if made > 0 {
		return nil
	}
	return last
}
