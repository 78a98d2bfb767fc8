// Command method checks the statistical method of Tare by simulation: it carries
// out many experiments whose true effect is known, in environments that disturb
// them in known ways, through the same code that judges real runs
// (analysis.NeededRounds, analysis.Judge), and counts false claims and intervals
// that miss the truth. Beside that stand the same counts for what is done
// elsewhere.
//
// It exits with 1 when a design claims falsely in more than 5.5 % of the
// experiments or an interval covers the truth in less than 94 %, at a nominal
// confidence of 95 %, by more than two standard errors. Where trials are missing, and where rare ones decide, that is asked of
// what is claimed only: of the verdicts, and of the intervals beside them.
//
// With -n 4000 it takes about a quarter of an hour of processor time, in full more than twice that.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// The figures that the method must reach.
const (
	mostFalse     = 0.055
	leastCoverage = 0.94
)

func main() {
	o := options{rounds: roundCounts}
	flag.IntVar(&o.times, "n", 10_000, "experiments per design and true effect")
	flag.IntVar(&o.powerTimes, "power-n", 1_000, "experiments per step of the search for the trials needed; 0 leaves that table out")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of all random numbers")
	flag.StringVar(&o.only, "cells", "", "only designs whose name contains this (drift, fine-stein, fixed-6/iid)")
	flag.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	flag.Func("rounds", "numbers of rounds, and of pilot rounds, separated by commas (default 6,8,10,12,20,30,50)", o.setRounds)
	flag.Parse()
	debug.SetGCPercent(1000) // many short-lived trials, little that stays
	ok, err := run(os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "method:", err)
		os.Exit(1)
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "method: a design misses what is required of it")
		os.Exit(1)
	}
}

type options struct {
	times, powerTimes int
	seed              uint64
	only              string
	markdown          bool
	rounds            []int
}

func (o *options) setRounds(text string) error {
	o.rounds = nil
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 2 || n > maxRounds {
			return fmt.Errorf("%q is not a number of rounds from 2 to %d", part, maxRounds)
		}
		o.rounds = append(o.rounds, n)
	}
	return nil
}

// run simulates everything, prints the tables, and says whether every design
// reaches what is required.
func run(w io.Writer, o options) (ok bool, err error) {
	s := simulation{rows: o.rows(), machines: o.machines(), failing: o.failing(), missing: o.missing(), repeating: o.repeating(), stalling: o.stalling(), counting: o.counting(), searching: o.searching(), spreading: o.spreading(), mixing: o.mixing(), deciding: o.deciding(),
		powers: o.powers(), sequentials: o.sequentials(), needs: o.efforts()}
	if len(s.all())+len(s.needs) == 0 {
		return false, fmt.Errorf("no design has %q in its name; names are like fixed-6/iid and stein-12/drift", o.only)
	}
	// On all cores. Every task has random numbers of its own, so that the result does
	// not depend on how they are spread.
	var tasks errgroup.Group
	tasks.SetLimit(runtime.GOMAXPROCS(0))
	for i := range slices.Backward(s.needs) {
		tasks.Go(func() error { return s.needs[i].simulate(o.powerTimes, o.seed) })
	}
	for i := range s.sequentials {
		s.sequentials[i].schedule(&tasks, o)
	}
	for _, r := range s.all() {
		r.schedule(&tasks, o)
	}
	if err := tasks.Wait(); err != nil {
		return false, err
	}
	return report(w, o, s), nil
}

// simulation is all that is simulated, by table.
type simulation struct {
	rows, machines, failing, missing, repeating, stalling, counting, searching, spreading, mixing, deciding, powers []*row
	sequentials                                                                                                     []sequentialRow
	needs                                                                                                           []effort
}

// all are the designs that the method is asked to judge rightly.
func (s *simulation) all() []*row {
	return slices.Concat(s.rows, s.machines, s.failing, s.missing, s.repeating, s.stalling, s.counting, s.searching, s.spreading, s.mixing, s.deciding, s.powers)
}

// efforts are the searches for the trials needed, the longest first so that no
// core waits for it in the end.
func (o options) efforts() []effort {
	if o.powerTimes == 0 {
		return nil
	}
	return slices.DeleteFunc(efforts(), func(e effort) bool { return !o.selected("seconds/" + e.noise.name) })
}

// selected says whether a design is asked for.
func (o options) selected(name string) bool { return strings.Contains(name, o.only) }
