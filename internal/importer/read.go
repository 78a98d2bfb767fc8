package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"tare/internal/run/journal"
	"tare/internal/stats"
)

type readResult struct {
	trials []Trial
	merged int         // largest number of trials of a serial tool that were merged into one
	stored *storedFile // the file's copy in the run; nil: the file could not be opened
	broken error       // the reason why the file gives no trials
	err    error       // an error that ends the import
}

func (r *run) take(ctx context.Context, i int, c readResult) error {
	if c.err != nil {
		return c.err
	}
	f := &r.files[i]
	line := journal.ImportedFile{Path: f.path, Arm: f.arm}
	if c.broken == nil && len(c.trials) == 0 {
		c.broken = errors.New("the file holds no result")
	}
	if c.broken != nil {
		c.broken = r.mistaken(ctx, i, c.broken)
		line.Broken = short(c.broken.Error())
		if err := r.list(line, c.stored); err != nil {
			return err
		}
		if errors.Is(c.broken, ErrNoResult) {
			r.beside = append(r.beside, i)
			return nil
		}
		if errors.Is(c.broken, errNoRound) {
			r.roundless++
		}
		return r.recordBroken(i, line.Broken, c.stored)
	}
	line.Trials = len(c.trials)
	r.merged = max(r.merged, c.merged)
	if first := r.duplicateOf(i, c); first != "" {
		for k := range c.trials {
			c.trials[k].Broken = "same content as " + first
		}
	}
	if err := r.add(i, c.trials, c.stored); err != nil {
		return err
	}
	return r.list(line, c.stored)
}

// read reads one file. Apart from the file's copy, it changes nothing in the run, so several files can be read at the
// same time.
func (r *run) read(ctx context.Context, i int) (c readResult) {
	f := &r.files[i]
	in, err := f.open(ctx, r.Stdin)
	if err != nil {
		return readResult{broken: err}
	}
	defer in.Close()
	if c.stored, c.err = r.begin(in, i+1, f); c.err != nil {
		return c
	}
	size := int64(0) // the size of the file, in bytes; 0: unknown
	if file, ok := in.(fs.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	format := cmp.Or(f.format, &r.Format)
	c.trials, c.broken = format.Read(File{Name: f.path, Reader: c.stored.buffer, Size: size, Alone: r.oneFileEach})
	if c.broken == nil {
		c.broken = CheckCount(len(c.trials))
	}
	if r.PairBy.byFiles() && format.Serial && c.broken == nil {
		c.trials, c.merged = readings(c.trials)
	}
	for k := 0; k < len(c.trials) && c.broken == nil; k++ {
		t := &c.trials[k]
		if c.broken = f.apply(t); c.broken == nil {
			c.broken = r.accept(t, f)
		}
		if t.Start.IsZero() {
			t.Start = r.Start
		}
	}
	c.err = c.stored.finish(c.broken != nil, size)
	if wrong, ok := errors.AsType[*UsageError](c.broken); ok && c.err == nil {
		c.err = wrong // a usage error is no fault of the file, so it ends the import
	}
	if c.broken != nil {
		c.broken, c.trials = bare(c.broken), nil
	}
	return c
}

// accept returns an error for a trial that cannot be stored, or that contradicts the user's options, such as --arm.
func (r *run) accept(t *Trial, f *inputFile) error {
	if err := cmp.Or(checkNames(t), t.CheckWithin()); err != nil {
		return err
	}
	switch {
	case t.Arm != "" && f.arm != "":
		return fmt.Errorf("the file names its arms itself (%s): give it without --arm", quoted(t.Arm))
	case t.Unpaired && r.PairBy.how != "":
		return misuse("leave out --pair-by", "cannot pair by %s: the file %s says that its trials are independent samples", r.PairBy.how, f.path)
	case r.PairBy.how == byRound && t.Round < 1:
		return errNoRound
	}
	return nil
}

var errNoRound = errors.New("the file contains no round: --pair-by " + byRound + " needs that")

// numbering returns a function that gives each trial of a file the number of its round. Trials of one arm and cell get
// different rounds.
func (r *run) numbering(file int) func(a *arm, t *Trial) int {
	seen := map[[2]string]int{} // trials so far, by arm and cell; used if the file contains no rounds
	given := map[[2]int]int{}   // round of a trial, by arm index and number in the file; only for unpaired trials
	return func(a *arm, t *Trial) int {
		nth := t.Round
		if nth == 0 {
			at := [2]string{a.name, t.Cell}
			seen[at]++
			nth = seen[at]
		}
		at := [2]int{a.index, nth}
		switch {
		case r.PairBy.how == byRound:
			return t.Round
		case r.PairBy.how != "":
			return r.roundOf(&r.files[file], nth)
		case given[at] == 0:
			given[at] = a.next()
		}
		return given[at]
	}
}

func (r *run) add(file int, trials []Trial, k *storedFile) error {
	round := r.numbering(file)
	k.hasRaw = k.hasRaw || slices.ContainsFunc(trials, func(t Trial) bool { return len(t.Series) > 0 || len(t.Histograms) > 0 })
	var series, histograms []trialWithin
	measured := map[*arm]bool{}
	key := &r.files[file].fileKey
	for i := range trials {
		t := &trials[i]
		a := r.arms.named(cmp.Or(t.Arm, r.files[file].arm, imported))
		if !measured[a] {
			measured[a] = true
			a.files++
		}
		a.learn(t.Facts)
		record, err := r.record(file, a, t, round(a, t))
		if err != nil {
			return err
		}
		if len(t.Series) > 0 {
			series = append(series, trialWithin{Cell: record.Cell, Round: record.Round, Series: t.Series})
		}
		if len(t.Histograms) > 0 {
			histograms = append(histograms, trialWithin{Cell: record.Cell, Round: record.Round, Histograms: t.Histograms})
		}
		record.Raw, record.SetUp = k.raw(), r.Layout.setUp(key.block)
		if err := r.bulk.Add(record); err != nil {
			return err
		}
	}
	for a := range measured {
		a.done(key)
	}
	return errors.Join(k.within("series", series), k.within("histograms", histograms))
}

func (r *run) record(i int, a *arm, t *Trial, round int) (*journal.Trial, error) {
	cell := r.cells.named(t)
	if r.PairBy.how == byRound {
		at := trialKey{a.index, cell.index, round}
		if other, ok := r.taken[at]; ok {
			return nil, fmt.Errorf("%s and %s both hold round %d of arm %s in %s", r.files[other].path, r.files[i].path, round, a.name, t.Cell)
		}
		r.taken[at] = i
	}
	_, twice := values(t)
	r.leaveOut(i, cell, t)
	conflict := r.cells.take(cell, t)
	if arms := len(r.arms.list); r.cells.metrics*max(arms-1, 1) > mostComparisons {
		return nil, misuse("import a part of the files, or check which text names the cells: it may differ in every file",
			"more than %d comparisons: %s in %s, of %s", mostComparisons,
			plural(r.cells.metrics, "metric"), plural(len(r.cells.list), "cell"), plural(arms, "arm"))
	}
	found, _ := values(t)
	if conflict == "" && twice != "" {
		conflict = twice + " has two values"
	}
	record := &journal.Trial{
		Round: round, Attempt: 1, Cell: cell.ID, Arm: a.name, Start: t.Start, Wall: max(t.Wall, 0),
		Values: found, Invalid: violations(t, conflict, r.Limits.Errors),
	}
	if conflict != "" {
		record.Values = nil // the values contradict the cell's earlier trials
	}
	a.take(round, cell.index, r.PairBy.how != "")
	cell.learn(a.name, r.Format.Settings, t)
	if record.Valid() {
		r.result.Valid++
		return record, nil
	}
	rules := map[string]bool{}
	for _, v := range record.Invalid {
		if !rules[v.Rule] {
			rules[v.Rule] = true
			r.result.ByRule[v.Rule]++
		}
	}
	record.Source = r.files[i].path
	worst := record.Invalid[0]
	r.problem(Problem{File: r.files[i].path, Cell: cell.ID, Rule: worst.Rule, Reason: worst.Detail})
	if r.Strict && rules[ruleImport] {
		return nil, fmt.Errorf("%s: %s: %s", r.files[i].path, cell.ID, worst.Detail)
	}
	return record, nil
}

func (r *run) problem(p Problem) {
	if len(r.result.Problems) < mostProblems {
		r.result.Problems = append(r.result.Problems, p)
		return
	}
	r.result.More++
}

// readAll reads all files, a few at a time, and takes results in their order. It reads no pipe ahead, and on return no
// goroutine reads a file.
func (r *run) readAll(ctx context.Context) error {
	const mostReaders = 4 // small, since each file may take Limit bytes of memory, and its trials even more
	readers := min(runtime.GOMAXPROCS(0), mostReaders)
	free := make(chan struct{}, readers)
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var queue []<-chan readResult // results of the files whose reading has begun, in order; the first is taken next
	begun := 0
	for i := range r.files {
		for begun < len(r.files) && begun <= i+readers && (begun == i || !r.files[begun].waits) {
			next, done := begun, make(chan readResult, 1)
			reading.Go(func() {
				free <- struct{}{}
				if ctx.Err() == nil {
					done <- r.read(ctx, next)
				}
				<-free
			})
			queue = append(queue, done)
			begun++
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-queue[0]:
			if err := ctx.Err(); err != nil {
				return err // if ctx has ended, the result may be incomplete
			}
			queue = queue[1:]
			if err := r.take(ctx, i, c); err != nil {
				return err
			}
			if r.Progress != nil {
				r.Progress(i+1, len(r.files))
			}
		}
	}
	return nil
}

// readings merges a file's trials of one arm and cell into one trial of medians: they ran at different times and are no
// pairs. most is the largest number merged.
func readings(trials []Trial) (merged []Trial, most int) {
	var list ordered[[2]string, []Trial]
	for _, t := range trials {
		of := list.get([2]string{t.Arm, t.Cell}, func() *[]Trial { return new([]Trial) })
		*of = append(*of, t)
	}
	for _, of := range list.list {
		merged = append(merged, reading(*of))
		most = max(most, len(*of))
	}
	return merged, most
}

func reading(trials []Trial) Trial {
	one := trials[0]
	if len(trials) == 1 {
		return one
	}
	var metrics ordered[string, Value]
	values := map[string][]float64{}
	one.Wall, one.Errors = 0, ErrorRate{}
	for _, t := range trials {
		one.Wall += t.Wall
		one.Broken = cmp.Or(one.Broken, t.Broken)
		one.Errors.Known = one.Errors.Known || t.Errors.Known
		one.Errors.Share += t.Errors.Share / float64(len(trials))
	}
	for _, t := range trials {
		if t.Errors.Share > 0 && one.Errors.Share < 1 {
			continue
		}
		for _, v := range t.Values {
			metrics.get(v.Metric.Name, func() *Value { return &v })
			values[v.Metric.Name] = append(values[v.Metric.Name], v.Value)
		}
	}
	one.Values = nil
	for _, v := range metrics.list {
		one.Add(v.Metric, stats.Median(values[v.Metric.Name]))
	}
	facts := map[string]string{}
	maps.Copy(facts, one.Facts)
	facts["readings"] = strconv.Itoa(len(trials))
	one.Facts = facts
	return one
}
