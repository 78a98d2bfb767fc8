// Package serve shows the runs below a directory as pages of a browser: a list of them, their
// reports, comparisons and history, and a run while it goes on. Handler answers requests, Site
// writes the same pages as files.
//
// A newcomer starts at pages.go, which says what pages there are. Each is a document of package
// report; nothing here writes markup. library.go finds and reads the runs, live.go is about those
// under way, files.go about what lies in their directories; guard.go decides who may ask,
// handler.go answers, site.go writes.
//
// A run that goes on must not notice that it is looked at. Nothing is written and, unless
// somebody looks, nothing is read: for each page that listens, the sizes of a few files are asked
// for once a second. A run that has changed is read again at most so often that it takes a small
// share of one processor.
package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tare/analysis"
	"tare/history"
	"tare/journal"
	"tare/report"
)

// Library is the runs below a directory.
type Library struct {
	dir  string        // without links
	look time.Duration // how often a run is looked at for somebody who listens
	mu   sync.Mutex
	runs map[string]*run // by name

	reading sync.Mutex
}

// run is a run directory, with what is kept of it once it was read.
type run struct {
	name, dir string

	read atomic.Pointer[reading] // nil: it was never read

	mu  sync.Mutex
	due time.Time // it is not read again before
}

// reading is a run as it was read. Nobody changes it any more.
type reading struct {
	*run
	stamp  string // of the files when it was read
	err    error  // nothing below is known
	listed report.Listed
	past   *history.Run
	going  *going // nil: it is finished
}

// Open makes the library of a directory. It may be a run itself, and it may hold none yet.
func Open(dir string) (*Library, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	if about, err := os.Stat(real); err != nil || !about.IsDir() {
		return nil, cmp.Or(err, fmt.Errorf("%s is not a directory", dir))
	}
	return &Library{dir: real, look: time.Second, runs: map[string]*run{}}, nil
}

// list finds the runs as they are now, in the order of their names.
func (l *Library) list() ([]*run, error) {
	dirs, err := journal.Find(l.dir)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*run
	for _, dir := range dirs {
		name, err := filepath.Rel(l.dir, dir)
		if err != nil {
			return nil, err
		}
		if name = filepath.ToSlash(name); name == "." {
			name = filepath.Base(dir)
		}
		if l.runs[name] == nil {
			l.runs[name] = &run{name: name, dir: dir}
		}
		all = append(all, l.runs[name])
	}
	slices.SortFunc(all, func(a, b *run) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// find is the run in which an address below runsDir lies, and what follows its name.
func (l *Library) find(address string) (r *run, rest string, err error) {
	all, err := l.list()
	for _, r := range all {
		if rest, ok := strings.CutPrefix(address, r.name+"/"); ok { // no run lies within another
			return r, rest, nil
		}
	}
	return nil, "", cmp.Or(err, fs.ErrNotExist)
}

// longestWait is how long a page waits for runs to be read.
const longestWait = 2 * time.Second

// read gives all runs, after those have been read again that have changed. It waits for that as long as it is told to, and gives what
// is known by then: some may be left that have never been read, and are read meanwhile.
func (l *Library) read(wait time.Duration) (list []*reading, skipped []history.Skipped, unread int, err error) {
	all, err := l.list()
	done := make(chan struct{})
	go func() {
		l.reading.Lock() // one at a time
		defer l.reading.Unlock()
		defer close(done)
		var group errgroup.Group
		group.SetLimit(max(1, runtime.GOMAXPROCS(0)/2)) // the others are for whoever measures
		for _, r := range all {
			group.Go(func() error { r.refresh(); return nil })
		}
		_ = group.Wait()
	}()
	select {
	case <-done:
	case <-time.After(wait):
	}
	for _, r := range all {
		switch read := r.read.Load(); {
		case read == nil:
			unread++
		case read.err != nil:
			skipped = append(skipped, history.Skipped{Directory: r.address(), Reason: read.err.Error()})
		default:
			list = append(list, read)
		}
	}
	return list, skipped, unread, err
}

// share of one processor that reading a run takes which changes all the time.
const share = 0.02

// refresh reads the run if it has changed, unless it is too early.
func (r *run) refresh() *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	began, stamp := time.Now(), r.state()
	if read := r.read.Load(); read != nil && (read.stamp == stamp || began.Before(r.due)) {
		return read
	}
	read := &reading{run: r, stamp: stamp}
	record, result, err := r.open()
	if read.err = err; err == nil {
		read.listed, read.past = report.List(r.name, result), history.Judged(record, result)
		if !record.Finished {
			read.going = newGoing(record, result)
		}
	}
	r.read.Store(read)
	r.due = began.Add(time.Duration(float64(time.Since(began)) / share))
	return read
}

// changed is the stamp that the run has now, if it is another one than it was and the run may be
// read again.
func (r *run) changed(was string) (stamp string, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.due) {
		return was, false
	}
	stamp = r.state()
	return stamp, stamp != was
}

// open reads and analyses the run. From here on it is called by its address: where its
// directory lies is nobody's business.
func (r *run) open() (*journal.Run, *analysis.Run, error) {
	record, err := journal.Open(r.dir)
	if err != nil {
		return nil, nil, r.named(err)
	}
	record.Dir = r.address()
	return record, analysis.Of(record), nil
}

// named is an error that has the address of the run in place of its directory.
func (r *run) named(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), r.dir, r.address()))
}

// state is a stamp that changes whenever the run does, or when its process ends.
func (r *run) state() string {
	text := ""
	for _, name := range []string{journal.NotesFile, journal.TrialsFile} {
		if about, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			text += fmt.Sprintf("%x.%x.", about.Size(), about.ModTime().UnixNano())
		}
	}
	read := r.read.Load()
	finished := read != nil && read.err == nil && read.going == nil
	if !finished && journal.Working(r.dir) {
		text += working
	}
	return text
}

// working ends the stamp of a run on which a process works.
const working = "working"

// earlier has the runs of each experiment that are finished and valid, in the order of time.
type earlier map[string][]*reading

func earlierOf(all []*reading) earlier {
	of := earlier{}
	for _, r := range all {
		if r.past.LeftOut == nil {
			of[r.past.Name] = append(of[r.past.Name], r)
		}
	}
	for _, list := range of {
		slices.SortFunc(list, (*reading).order)
	}
	return of
}

// before is the last run of the same experiment that began before this one; nil if there is none.
func (e earlier) before(r *reading) *reading {
	list := e[r.past.Name]
	if at, _ := slices.BinarySearchFunc(list, r, (*reading).order); at > 0 {
		return list[at-1]
	}
	return nil
}

// order is that of time, as in a history.
func (r *reading) order(o *reading) int {
	return cmp.Or(r.past.Start.Compare(o.past.Start), cmp.Compare(r.name, o.name))
}
