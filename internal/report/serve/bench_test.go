package serve

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/report/html"
	"tare/internal/runs/history/historytest"
)

// BenchmarkLive says what it takes to show a run that goes on: looking whether it has changed,
// once a second, and an update for one reader, which reads, analyses and writes the page.
//
//	go test ./internal/report/serve -run '^$' -bench Live -cpu 1
func BenchmarkLive(b *testing.B) {
	for _, rounds := range []int{12, 100, 1000} {
		dir := b.TempDir()
		if err := (historytest.Run{Name: "disk", Level: 1, Noise: 0.01, Rounds: rounds, Cells: 2, Kernel: "6.1.0", Running: true}).Write(filepath.Join(dir, "run")); err != nil {
			b.Fatal(err)
		}
		l, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		r, _, err := l.find("run/")
		if err != nil {
			b.Fatal(err)
		}
		trials := rounds * 6
		stamp := r.refresh().stamp
		b.Run(fmt.Sprintf("look/trials=%d", trials), func(b *testing.B) {
			r.due = time.Time{}
			for b.Loop() {
				if _, changed := r.changed(stamp); changed {
					b.Fatal("nothing has changed")
				}
			}
		})
		b.Run(fmt.Sprintf("update/trials=%d", trials), func(b *testing.B) {
			for b.Loop() {
				r.read.Store(nil)
				if err := html.Write(io.Discard, r.refresh().live(time.Now())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList is the list of many runs: the first page, which reads them, and the next.
//
//	go test ./internal/report/serve -run '^$' -bench List -cpu 2
func BenchmarkList(b *testing.B) {
	const runs = 5000
	dir := b.TempDir()
	for i := range runs {
		if err := (historytest.Run{Name: "disk", Level: 1, Noise: 0.01, Rounds: 12, Cells: 2, Kernel: "6.1.0", Number: i}).Write(filepath.Join(dir, fmt.Sprintf("run-%04d", i))); err != nil {
			b.Fatal(err)
		}
	}
	page := func(b *testing.B, l *Library, wait time.Duration) {
		all, skipped, unread, err := l.read(wait)
		if err != nil || len(all)+len(skipped)+unread != runs {
			b.Fatalf("%d, %d and %d runs, %v", len(all), len(skipped), unread, err)
		}
		if err := html.Write(io.Discard, index(all, skipped, unread, true)); err != nil {
			b.Fatal(err)
		}
	}
	open := func(b *testing.B) *Library {
		l, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			page(b, open(b), longestWait)
		}
	})
	b.Run("next", func(b *testing.B) {
		l := open(b)
		page(b, l, time.Hour)
		for b.Loop() {
			page(b, l, time.Hour)
		}
	})
}
