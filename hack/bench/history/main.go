// Command history checks by simulation what tare history and tare gate --against
// claim: it makes histories whose truth is known, lets package history judge
// them, and counts what it finds, where, and what it claims that is not there.
//
//	go -C hack/bench run ./history -markdown > docs/figures/history.md
//
// It exits with 1 when flat histories show a change more often than they may, of
// independent runs or with an autocorrelation of 0.3, or a gate at 5 % fails flat
// histories of independent runs more often.
package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tare/hack/bench/table"
	"tare/internal/runs/history"
)

func main() {
	o := options{}
	flag.IntVar(&o.times, "n", 1_000, "histories per row; with few, a requirement can be missed by chance")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	flag.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	flag.Parse()
	if !run(os.Stdout, o) {
		fmt.Fprintln(os.Stderr, "history: a requirement is missed")
		os.Exit(1)
	}
}

type options struct {
	times    int
	seed     uint64
	markdown bool
}

// run simulates everything, prints the tables, and says whether what is required
// holds.
func run(w io.Writer, o options) (ok bool) {
	title(w, o)
	ok = true
	for _, t := range []func(options) (table.Table, bool){flats, steps, places, interludes, segments, drifts, gates, declines} {
		t, fine := t(o)
		t.Write(w, o.markdown)
		ok = ok && fine
	}
	return ok
}

// repeat carries a simulation out many times on all processors. Each time has
// random numbers of its own, so that the result does not depend on how they are
// spread; what it returns is kept in order.
func repeat[T any](o options, name string, once func(rng *rand.Rand) T) []T {
	h := fnv.New64a()
	h.Write([]byte(name))
	stream := h.Sum64()
	out := make([]T, o.times)
	var times errgroup.Group
	times.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		times.Go(func() error {
			out[i] = once(rand.New(rand.NewPCG(o.seed+uint64(i)<<32, stream)))
			return nil
		})
	}
	_ = times.Wait() // there are no errors
	return out
}

// share is how often something is so.
func share[T any](list []T, so func(T) bool) float64 {
	n := 0
	for _, v := range list {
		if so(v) {
			n++
		}
	}
	return float64(n) / float64(len(list))
}

// percent is a share in per cent without its sign.
func percent(share float64) string { return fmt.Sprintf("%.2f", 100*share) }

// title prints what the figures rest on.
func title(w io.Writer, o options) {
	if o.markdown {
		fmt.Fprintf(w, "<!-- made by: go -C hack/bench run ./history -markdown -->\n\n# Histories, simulated\n")
	}
	fmt.Fprintf(w, "\nEvery row comes from %d simulated histories, judged by the code that judges real ones (the gate on a decline: from %d). "+
		"A percentage near 5 has a standard error of %.1f points.\n\nHow runs differ when nothing changes:\n\n", o.times, max(o.times/20, 1),
		21.8/math.Sqrt(float64(o.times)))
	for _, world := range worlds {
		fmt.Fprintf(w, "- %s: %s\n", world.name, world.about)
	}
	fmt.Fprintf(w, "\nChanges: level %s %%, at least %d runs between them.\n", percent(history.DefaultAlpha), history.DefaultSegment)
}
