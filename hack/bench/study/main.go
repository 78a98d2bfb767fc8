// Command study makes studies as others publish them, of several products with and without a layer, whose truth is known,
// and counts how often the intervals of Tare hold it: those by block, and those that come of pooling all repeats.
//
//	go -C hack/bench run ./study -markdown >docs/figures/study.md
//	go -C hack/bench run ./study -write DIR
//
// The second writes one such study as files of iperf3, laid out as results/calico-wg/3/p2p-client.stdout, with its truth
// in truth.txt. The program exits with 1 where an interval by block holds the truth in less than 94 %.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"

	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// leastCoverage is what intervals of 95 % must reach.
const leastCoverage = 0.94

// model is how values come about. All deviations are of logarithms.
type model struct {
	blocks, repeats int
	product         float64 // of what blocks reach; 0: they are deployments of one product
	deployment      float64 // of what a deployment of an arm draws, for all its repeats
	between         float64 // of what the layer costs, from block to block
	repeat          float64 // of a repeat
}

// cost is the logarithm by which the layer changes the value in the typical block: 12 % less.
var cost = math.Log(0.88)

func main() {
	n := flag.Int("n", 4000, "studies per row")
	markdown := flag.Bool("markdown", false, "print Markdown")
	dir := flag.String("write", "", "directory to write one study to, in place of the simulation")
	seed := flag.Uint64("seed", 1, "of all random numbers")
	flag.Parse()
	rng := rand.New(rand.NewPCG(*seed, 1))
	if *dir != "" {
		if err := write(*dir, rng); err != nil {
			fmt.Fprintln(os.Stderr, "study:", err)
			os.Exit(1)
		}
		return
	}
	t, ok := simulate(*n, rng)
	t.Write(os.Stdout, *markdown)
	if !ok {
		fmt.Fprintln(os.Stderr, "study: an interval by block holds the truth too seldom")
		os.Exit(1)
	}
}

// value is one of the layer's arm or of the baseline's, in a block of some level.
func (m model) value(rng *rand.Rand, level float64) float64 {
	return 1e9 * math.Exp(level+m.repeat*rng.NormFloat64())
}

// levels are the logarithms around which the repeats of both arms of a block lie.
func (m model) levels(rng *rand.Rand) (base, arm float64) {
	product := m.product * rng.NormFloat64()
	base = product + m.deployment*rng.NormFloat64()
	arm = product + cost + m.between*rng.NormFloat64() + m.deployment*rng.NormFloat64()
	return base, arm
}

// study is one, as an import by block.
func (m model) study(rng *rand.Rand) (*experiment.Plan, []journal.Trial) {
	plan := &experiment.Plan{
		Schema: experiment.PlanSchema, Testbed: experiment.TestbedImport, Rounds: m.blocks * m.repeats, Confidence: 0.95, Equivalence: 0.02, Power: 0.8, Attempts: 1,
		Import: &experiment.Import{Tool: "iperf3", PairBy: "cni, rep"},
		Arms:   []experiment.PlannedArm{{Name: "none", Role: experiment.Baseline}, {Name: "wg", Role: experiment.Treatment}},
		Cells: []experiment.Cell{{ID: "tcp", Metrics: []experiment.Metric{
			{Name: "tcp-bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio}}}},
	}
	var trials []journal.Trial
	for b := range m.blocks {
		plan.Import.Blocks = append(plan.Import.Blocks, strconv.Itoa(b+1))
		base, arm := m.levels(rng)
		for r := range m.repeats {
			for i, level := range []float64{base, arm} {
				trials = append(trials, journal.Trial{Session: 1, Round: b*m.repeats + r + 1, Attempt: 1, SetUp: b + 1, Cell: "tcp", Arm: plan.Arms[i].Name,
					Values: map[string]float64{"tcp-bandwidth": m.value(rng, level)}})
			}
		}
	}
	return plan, trials
}

// pairsPooled takes every repeat for a block of its own.
func pairsPooled(plan *experiment.Plan, trials []journal.Trial) {
	plan.Import.Blocks = nil
	for i := range trials {
		trials[i].SetUp = 0
	}
}

// samplesPooled takes all repeats of an arm for one sample.
func samplesPooled(plan *experiment.Plan, trials []journal.Trial) {
	pairsPooled(plan, trials)
	plan.Import.PairBy = ""
}

// tally counts intervals of one kind.
type tally struct {
	held  int
	width float64
}

func (t *tally) add(plan *experiment.Plan, trials []journal.Trial) {
	c := analysis.Judge(plan, trials).Comparisons[0]
	truth := -math.Expm1(cost)
	if c.Overhead.Lo <= truth && truth <= c.Overhead.Hi {
		t.held++
	}
	t.width += c.Overhead.Hi - c.Overhead.Lo
}

// simulate counts how often each kind of interval holds the truth.
func simulate(n int, rng *rand.Rand) (*table.Table, bool) {
	t := &table.Table{
		Title: "Studies whose repeats share a deployment",
		Notes: []string{
			fmt.Sprintf("How often 95 %% intervals hold what a layer costs (12 %%), of %d simulated studies each, and how wide they are on\naverage in percentage points.", n),
			"The repeats of a block share what the deployment of each arm drew, and what the layer costs differs from block to\nblock; " +
				"the columns have the deviations. Blocks are products that differ by 50 % themselves, or deployments of\none product. " +
				"Pooled are all repeats, as pairs that are independent of each other, or as one sample of each arm.",
		},
		Head: []string{"blocks × repeats", "deployment %", "cost %", "repeat %", "by block", "width", "pairs pooled", "width", "samples pooled", "width"},
	}
	ok := true
	percent := func(v float64) string { return fmt.Sprintf("%.1f", 100*v) }
	for _, m := range []model{
		{6, 5, 0.5, 0, 0, 0.02}, {4, 5, 0.5, 0.04, 0, 0.01}, {6, 5, 0.5, 0.04, 0, 0.01}, {6, 5, 0.5, 0.02, 0, 0.03}, {6, 5, 0.5, 0.02, 0.05, 0.02}, {12, 3, 0.5, 0.04, 0.03, 0.02},
		{6, 5, 0, 0, 0, 0.02}, {5, 6, 0, 0.04, 0, 0.01}, {6, 5, 0, 0.04, 0, 0.01}, {6, 5, 0, 0.02, 0, 0.03}, {10, 10, 0, 0.04, 0, 0.02},
	} {
		var kinds [3]tally
		for range n {
			plan, trials := m.study(rng)
			kinds[0].add(plan, trials)
			pairsPooled(plan, trials)
			kinds[1].add(plan, trials)
			samplesPooled(plan, trials)
			kinds[2].add(plan, trials)
		}
		what := "products"
		if m.product == 0 {
			what = "deployments"
		}
		row := []string{fmt.Sprintf("%d %s × %d", m.blocks, what, m.repeats), percent(m.deployment), percent(m.between), percent(m.repeat)}
		for _, k := range kinds {
			row = append(row, percent(float64(k.held)/float64(n))+" %", percent(k.width/float64(n)))
		}
		t.Add(row...)
		ok = ok && float64(kinds[0].held)/float64(n) >= leastCoverage
	}
	return t, ok
}
