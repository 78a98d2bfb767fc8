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

	"tare/history/historytest"
	"tare/journal"
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
	q.AddCookie(&http.Cookie{Name: (&guard{token: token}).cookie(), Value: token})
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
	if text := body(t, get(t, h, "/")); !strings.Contains(text, "going on") {
		t.Errorf("it goes on: %s", text)
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
