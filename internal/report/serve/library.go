// Package serve shows the runs below a directory as pages for a browser: a list of runs, their reports, comparisons,
// history, and the progress of unfinished runs. Handler responds to requests. Site writes the pages as files.
//
// Start reading at pages.go, which lists the pages. Each page is a document of package report; this package writes no
// markup. library.go finds and reads runs, handler.go checks who may read and responds to requests, and site.go writes
// files.
//
// Watching a run must not disturb it. Nothing is written, and without readers nothing is read. For each page that
// listens for changes, the server checks the sizes of a few files once a second. Reading a changed run again takes only
// a small share of one processor.
package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tare/internal/analysis"
	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/run/journal"
	"tare/internal/runs/history"
)

const (
	longestWait = 2 * time.Second  // time that a page waits for runs to be read
	showAlive   = 15 * time.Second // time between the lines that are sent to keep a connection open
	share       = 0.02             // largest share of one processor for reading a run that changes all the time
	working     = "working"        // last part of a run's stamp while a process works on the run
)

// Library holds the runs below a directory.
type Library struct {
	dir  string        // path without symbolic links
	look time.Duration // interval between two checks of a run whose page listens for changes
	mu   sync.Mutex
	runs map[string]*run

	reading sync.Mutex
}

type run struct {
	name, dir string

	read atomic.Pointer[reading] // latest reading; nil: the run was never read

	mu  sync.Mutex
	due time.Time // earliest time of the next reading
}

// reading is the state of a run when it was read. A reading does not change.
type reading struct {
	*run
	stamp      string // stamp of the run's files, which shows whether they have changed
	err        error  // error of reading; the fields below are then empty
	listed     report.Listed
	past       *history.Run
	unfinished *unfinished // progress of the run; nil: the run is finished
}

// Open returns the library of a directory. The directory may itself be a run, and may be empty.
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

// find returns the run that an address below runsDir leads to. The result rest is the part of the address
// behind the run's name.
func (l *Library) find(address string) (r *run, rest string, err error) {
	all, err := l.list()
	for _, r := range all {
		if rest, ok := strings.CutPrefix(address, r.name+"/"); ok { // no run lies within another run
			return r, rest, nil
		}
	}
	return nil, "", cmp.Or(err, fs.ErrNotExist)
}

// read returns the latest reading of each run, after reading the changed runs. Beyond the time wait, reading continues
// in the background. unread counts the runs that were never read.
func (l *Library) read(wait time.Duration) (list []*reading, skipped []history.Skipped, unread int, err error) {
	all, err := l.list()
	done := make(chan struct{})
	go func() {
		l.reading.Lock() // only one goroutine reads the runs at a time
		defer l.reading.Unlock()
		defer close(done)
		var group errgroup.Group
		group.SetLimit(max(1, runtime.GOMAXPROCS(0)/2)) // leaves half of the processors to measurements
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

// refresh returns what was last read of the run. If the run has changed since then and its next reading is due, refresh
// reads the run again.
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
			read.unfinished = newUnfinished(record, result)
		}
	}
	r.read.Store(read)
	r.due = began.Add(time.Duration(float64(time.Since(began)) / share))
	return read
}

// changed returns the run's current stamp, and whether it differs from the stamp earlier. Before the next reading is
// due, it returns the earlier stamp and false.
func (r *run) changed(earlier string) (stamp string, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.due) {
		return earlier, false
	}
	stamp = r.state()
	return stamp, stamp != earlier
}

// open reads and analyses the run. Results and errors contain the run's address instead of its directory, which
// stays private.
func (r *run) open() (*journal.Run, *analysis.Run, error) {
	record, err := journal.Open(r.dir)
	if err != nil {
		return nil, nil, r.named(err)
	}
	record.Dir = r.address()
	return record, analysis.OfRun(record), nil
}

// named puts the run's address in place of the run's directory in an error.
func (r *run) named(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), r.dir, r.address()))
}

// state returns a stamp of the run: a text that changes whenever the run's files change or its process ends.
func (r *run) state() string {
	text := ""
	for _, name := range []string{journal.NotesFile, journal.TrialsFile} {
		if about, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
			text += fmt.Sprintf("%x.%x.", about.Size(), about.ModTime().UnixNano())
		}
	}
	read := r.read.Load()
	finished := read != nil && read.err == nil && read.unfinished == nil
	if !finished && journal.Working(r.dir) {
		text += working
	}
	return text
}

// earlierRuns holds the finished and valid runs of each experiment, in the order of time.
type earlierRuns map[string][]*reading

func earlierOf(all []*reading) earlierRuns {
	of := earlierRuns{}
	for _, r := range all {
		if r.past.LeftOut == nil {
			of[r.past.Name] = append(of[r.past.Name], r)
		}
	}
	for _, list := range of {
		slices.SortFunc(list, (*reading).compareTime)
	}
	return of
}

// before returns the last run of r's experiment that started before r; nil: there is none.
func (e earlierRuns) before(r *reading) *reading {
	list := e[r.past.Name]
	if at, _ := slices.BinarySearchFunc(list, r, (*reading).compareTime); at > 0 {
		return list[at-1]
	}
	return nil
}

// compareTime orders runs by start time, as a history does.
func (r *reading) compareTime(o *reading) int {
	return cmp.Or(r.past.Start.Compare(o.past.Start), cmp.Compare(r.name, o.name))
}

// unfinished holds the content of an unfinished run's live page.
type unfinished struct {
	result        *analysis.Run
	trials        []journal.Trial
	began         time.Time // start of the last session
	earlierTrials int       // number of trials that earlier sessions made
}

func newUnfinished(record *journal.Run, result *analysis.Run) *unfinished {
	g := &unfinished{result: result, trials: record.Trials}
	if n := len(record.Sessions); n > 0 {
		g.began = record.Sessions[n-1].Start
		for g.earlierTrials < len(g.trials) && g.trials[g.earlierTrials].Session < record.Sessions[n-1].Number {
			g.earlierTrials++
		}
	}
	return g
}

// left estimates the remaining time of a run from the average time per trial in this session. It returns 0 if this is
// unknown.
func (g *unfinished) left(now time.Time) time.Duration {
	n := len(g.trials) - g.earlierTrials
	if n < 1 || g.began.IsZero() {
		return 0
	}
	last := g.trials[len(g.trials)-1]
	ended := last.Start.Add(last.Wall)
	rest := ended.Sub(g.began) / time.Duration(n) * time.Duration(g.result.Trials.Planned-g.result.Trials.Done)
	return max(rest-now.Sub(ended), 0)
}

func (r *reading) working() bool { return strings.HasSuffix(r.stamp, working) }

func (r *reading) live(now time.Time) *document.Document {
	page := r.page(livePage)
	return report.Live(r.unfinished.result, r.unfinished.trials, report.LiveOptions{Working: r.working(), Left: r.unfinished.left(now),
		Page: page, Links: append(slices.Clone(home), report.Link{Words: "Report so far", To: r.page(reportPage)}),
		Live: &document.Live{Script: report.Link{To: scriptFile}.From(page), Events: eventsFile + "?seen=" + r.stamp}})
}

// events sends a server-sent event whenever the run has changed, until the reader disconnects. It checks the run at
// the given interval.
func (r *run) events(w http.ResponseWriter, q *http.Request, look time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if q.Method == http.MethodHead {
		return
	}
	say := func(line string) bool {
		_, err := fmt.Fprint(w, line+"\n\n")
		return err == nil && out.Flush() == nil
	}
	if !say(": listening") {
		return
	}
	looks, alive := time.NewTicker(look), time.NewTicker(showAlive)
	defer looks.Stop()
	defer alive.Stop()
	seen := q.URL.Query().Get("seen")
	for {
		select {
		case <-q.Context().Done():
			return
		case <-alive.C:
			if !say(": listening") {
				return
			}
		case <-looks.C:
			now, changed := r.changed(seen)
			if changed && !say("event: changed\ndata: "+now) {
				return
			}
			seen = now
		}
	}
}
