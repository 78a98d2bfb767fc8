package serve

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"tare/history/historytest"
	"tare/report/html"
)

// BenchmarkLive says what it takes to show a run that goes on: looking whether it has changed,
// once a second, and an update for one reader, which reads, analyses and writes the page.
//
//	go test ./serve -run '^$' -bench Live -cpu 1
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
				r.read = nil
				if err := html.Write(io.Discard, r.refresh().live(time.Now())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
