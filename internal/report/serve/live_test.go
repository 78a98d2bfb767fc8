package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/run/journal"
	"tare/internal/runs/history/historytest"
)

// growing is a run of which not all trials are there yet.
type growing struct {
	t     *testing.T
	dir   string
	lines []string // that are to come
}

// grow makes a run of 18 trials that has the first ten of them.
func grow(t *testing.T, dir, name string) *growing {
	t.Helper()
	write(t, historytest.Run{Name: name, Level: 0.4, Cost: 0.1, Noise: 0.01, Rounds: 6, Running: true}, dir)
	text, err := os.ReadFile(filepath.Join(dir, journal.TrialsFile))
	if err == nil {
		err = os.Truncate(filepath.Join(dir, journal.TrialsFile), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	g := &growing{t, dir, strings.SplitAfter(string(text), "\n")}
	g.trials(10)
	return g
}

// trials adds the next ones.
func (g *growing) trials(n int) {
	g.t.Helper()
	g.add(journal.TrialsFile, strings.Join(g.lines[:n], ""))
	g.lines = g.lines[n:]
}

// finish marks the run as complete.
func (g *growing) finish() {
	g.t.Helper()
	g.trials(len(g.lines))
	g.add(journal.NotesFile, `{"schema":"tare.note/v1","kind":"finished","session":1,"time":"2026-01-05T03:00:00Z","text":"finished"}`+"\n")
}

func (g *growing) add(name, text string) {
	g.t.Helper()
	f, err := os.OpenFile(filepath.Join(g.dir, name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		g.t.Fatal(err)
	}
}

// A page that listens is told when its run changes, and no sooner.
func TestEvents(t *testing.T) {
	dir := t.TempDir()
	run := grow(t, filepath.Join(dir, "half"), "disk")
	l := library(t, dir)
	l.look = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(l.Handler(token, ""))
	defer server.Close()
	defer cancel()
	h := l.Handler(token, "")
	page := body(t, get(t, h, "/runs/half/live.html"))
	events := regexp.MustCompile(`data-events="([^"]*)"`).FindStringSubmatch(page)
	if events == nil {
		t.Fatalf("the page does not listen: %s", page)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/runs/half/"+events[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	name, kept := (&access{token: token}).cookie(q.Host)
	q.AddCookie(&http.Cookie{Name: name, Value: kept})
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("the events are %q", got)
	}
	heard := make(chan string, 100)
	go func() {
		defer close(heard)
		buf := make([]byte, 4096)
		for {
			n, err := answer.Body.Read(buf)
			if err != nil {
				return
			}
			heard <- string(buf[:n])
		}
	}()
	if first := <-heard; strings.Contains(first, "changed") {
		t.Errorf("nothing has changed: %q", first)
	}
	run.trials(1)
	for text := range heard {
		if strings.Contains(text, "event: changed") {
			break
		}
	}
	if text := body(t, get(t, h, "/runs/half/live.html")); !strings.Contains(text, "11 of 18 trials") {
		t.Errorf("the page is as it was: %s", text)
	}
	cancel()
	for range heard { // ends
	}
}

// The page of a run that has ended is its report.
func TestLiveEnds(t *testing.T) {
	dir := t.TempDir()
	nightly(t, dir, 1)
	r := get(t, library(t, dir).Handler(token, ""), "/runs/disk-a/live.html")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != reportPage {
		t.Errorf("%s to %q", r.Status, r.Header.Get("Location"))
	}
}

// A process that works on a run is seen, and is not disturbed.
func TestWorking(t *testing.T) {
	dir := t.TempDir()
	plan := historytest.Run{Name: "disk", Rounds: 2}.Journal("").Plan
	j, err := journal.Create(filepath.Join(dir, "run"), []byte("name: disk\n"), nil, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := library(t, dir).Handler(token, "")
	if text := body(t, get(t, h, "/")); !strings.Contains(text, "in progress") {
		t.Errorf("it is in progress: %s", text)
	}
	if err := errors.Join(j.Note("still there"), j.Close()); err != nil {
		t.Fatal(err)
	}
	h = library(t, dir).Handler(token, "")
	if text := body(t, get(t, h, "/")); !strings.Contains(text, "interrupted") {
		t.Errorf("it is interrupted: %s", text)
	}
	if j, err = journal.Resume(filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// The rest takes as long as this session took for its part, set-ups included.
func TestTimeLeft(t *testing.T) {
	j := historytest.Run{Name: "disk", Rounds: 6, Running: true}.Journal("")
	j.Trials = j.Trials[:9] // of 18, one a second
	began := j.Sessions[0].Start
	left := func(after time.Duration) time.Duration {
		return newUnfinished(j, analysis.OfRun(j)).left(began.Add(after))
	}
	for after, want := range map[time.Duration]time.Duration{9 * time.Second: 9 * time.Second, 11 * time.Second: 7 * time.Second, time.Hour: 0} {
		if got := left(after); got != want {
			t.Errorf("after %v: %v left, want %v", after, got, want)
		}
	}
	j.Sessions = append(j.Sessions, journal.Session{Number: 2, Start: began.Add(2 * time.Second)})
	for i := range j.Trials[6:] { // three in the seven seconds of the second session
		j.Trials[6+i].Session = 2
	}
	if got := left(9 * time.Second); got.Round(time.Second) != 21*time.Second {
		t.Errorf("resumed: %v left, want 21s", got)
	}
	j.Trials = nil
	if got := left(0); got != 0 {
		t.Errorf("without a trial: %v left", got)
	}
}
