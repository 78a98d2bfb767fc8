package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/hack/bench/table"
)

// report prints the tables and what misses the requirements.
func report(w io.Writer, o options, s simulation) (ok bool) {
	if o.markdown {
		fmt.Fprintf(w, "<!-- made by: %s -->\n\n# The method, simulated\n\n", o.command())
	}
	o.introduce(w)
	fixed, stein, several := tables(s.rows)
	misses := missed(s.all())
	fixed.Write(w, o.markdown)
	stein.Write(w, o.markdown)
	several.Write(w, o.markdown)
	ofMachines(s.machines).Write(w, o.markdown)
	ofFailing(s.failing).Write(w, o.markdown)
	ofMissing(s.missing).Write(w, o.markdown)
	ofRepeating(s.repeating).Write(w, o.markdown)
	ofStalling(s.stalling).Write(w, o.markdown)
	ofCounting(s.counting).Write(w, o.markdown)
	ofSearching(s.searching).Write(w, o.markdown)
	ofSpreading(s.spreading).Write(w, o.markdown)
	ofMixing(s.mixing).Write(w, o.markdown)
	ofDeciding(s.deciding).Write(w, o.markdown)
	ofPowers(s.powers).Write(w, o.markdown)
	elsewhere(s.sequentials).Write(w, o.markdown)
	needed(o, s.needs).Write(w, o.markdown)
	fmt.Fprintln(w)
	for _, m := range misses {
		fmt.Fprintln(w, m)
	}
	if len(misses) == 0 {
		fmt.Fprintf(w, "Every design claims falsely in at most %s %% of the experiments and covers the truth in at least %s %%, but for two standard errors:\nwhere programs fail, of what is claimed; where trials stall, of the experiments in which the arm's did.\n", share(mostFalse), share(leastCoverage))
	}
	return len(misses) == 0
}

// command is what makes the same output again.
func (o options) command() string {
	parts := []string{"go -C hack/bench run ./method"}
	if o.times != 10_000 {
		parts = append(parts, fmt.Sprintf("-n %d", o.times))
	}
	if o.powerTimes != 1_000 {
		parts = append(parts, fmt.Sprintf("-power-n %d", o.powerTimes))
	}
	if o.seed != 1 {
		parts = append(parts, fmt.Sprintf("-seed %d", o.seed))
	}
	if !slices.Equal(o.rounds, roundCounts) {
		parts = append(parts, "-rounds "+strings.ReplaceAll(strings.Trim(fmt.Sprint(o.rounds), "[]"), " ", ","))
	}
	if o.only != "" {
		parts = append(parts, "-cells "+o.only)
	}
	if o.markdown {
		parts = append(parts, "-markdown")
	}
	return strings.Join(parts, " ")
}

func (o options) introduce(w io.Writer) {
	fmt.Fprintf(w, "Every figure comes from %d simulated experiments of a baseline, a control and one\n", o.times)
	fmt.Fprintf(w, "arm, judged by the code that judges real runs, at a confidence of %s %% and an\n", share(confidence))
	fmt.Fprintf(w, "equivalence margin of ±%s %%. A percentage near 5 has a standard error of %s points.\n\n", share(equivalence), number(100*standardError(0.05, o.times)))
	fmt.Fprintln(w, "The kinds of noise:")
	fmt.Fprintln(w)
	for _, n := range noises {
		fmt.Fprintf(w, "- %s: %s\n", n.name, n.about)
	}
}

// standardError is the binomial standard error of a share over n experiments.
func standardError(p float64, n int) float64 { return math.Sqrt(p * (1 - p) / float64(n)) }

// tables fills the tables of the fixed designs, the Stein designs, and the
// designs of several arms.
func tables(rows []*row) (fixed, stein, several *table.Table) {
	fixed = &table.Table{
		Title: "Fixed number of rounds",
		Notes: []string{
			"False claims: verdicts *costs* or *gains* where there is no difference.",
			"Coverage: the headline interval holds the true effect.",
			"False equivalence: verdicts *equivalent* where the arm lies exactly on the\nmargin, which the method allows in 5 %.",
			"Control failed: the run gives no verdicts although nothing is wrong.",
		},
		Head: []string{"noise", "rounds", "false claims %", "coverage at 0 %", "at 2 %", "at 5 %", "false equivalence %", "control failed %"},
	}
	stein = &table.Table{
		Title: "Precision goal: Stein's two-stage rule",
		Notes: []string{
			fmt.Sprintf("The pilot sets the number of rounds once, such that the half-width is reached in nine of ten\nruns where noise is normal, at most %d. The headline interval is the hull of the aligned-rank\ninterval and Stein's t interval. The last two columns show what each would cover alone at 0 %%.", maxRounds),
		},
		Head: []string{"noise", "precision %", "pilot", "mean rounds", "false claims %", "coverage at 0 %", "at 2 %", "at 5 %", "false equivalence %", "control failed %", "aligned rank alone", "Stein's t alone"},
	}
	several = &table.Table{
		Title: "Several arms",
		Notes: []string{fmt.Sprintf("False claims: experiments of %d rounds in which any of the arms, none of which\ndiffers, gets the verdict *costs* or *gains*.", manyRounds)},
		Head:  []string{"noise", "arms", "false claims %", "control failed %"},
	}
	for _, r := range rows {
		null := r.tallies[0]
		claims, failed := rate(null.claims, null.n), rate(null.controlFailed, null.n)
		if r.arms > 1 {
			several.Add(r.noise.name, fmt.Sprint(r.arms), claims, failed)
			continue
		}
		covered := make([]string, len(r.tallies))
		for e, t := range r.tallies {
			covered[e] = rate(t.n-t.missed, t.n)
		}
		margin := r.tallies[1]
		cells := append([]string{claims}, covered...)
		cells = append(cells, rate(margin.equivalent, margin.n), failed)
		if r.precision == 0 {
			fixed.Add(append([]string{r.noise.name, fmt.Sprint(r.rounds)}, cells...)...)
			continue
		}
		mean := fmt.Sprintf("%.1f", float64(null.rounds)/float64(null.n))
		cells = append([]string{r.noise.name, "±" + share(r.precision), fmt.Sprint(r.rounds), mean}, cells...)
		stein.Add(append(cells, rate(null.n-null.missedRank, null.n), rate(null.n-null.missedT, null.n))...)
	}
	return fixed, stein, several
}

// over says whether a share is beyond a limit by more than two standard errors: less is chance.
func over(k, n int, most float64) bool {
	return float64(k) > (most+2*standardError(most, n))*float64(n)
}

// missed lists what misses the requirements.
func missed(rows []*row) (misses []string) {
	for _, r := range rows {
		if r.unasked {
			continue
		}
		if null := r.tallies[0]; !r.claimsOnly && over(null.claims, null.n, mostFalse) {
			misses = append(misses, fmt.Sprintf("MISS %s: false claims %s %%, over %s %%", r.name(), rate(null.claims, null.n), share(mostFalse)))
		}
		for e := range r.tallies {
			misses = append(misses, r.missedAt(e)...)
		}
	}
	return misses
}

// missedAt lists what misses the requirements at one of the effects.
func (r *row) missedAt(e int) (misses []string) {
	t := &r.tallies[e]
	miss := func(format string, args ...any) {
		misses = append(misses, fmt.Sprintf("MISS %s: ", r.name())+fmt.Sprintf(format, args...))
	}
	effect := share(r.effects[e]) + " %"
	if r.counts {
		effect = number(r.effects[e])
	}
	few := func(k, n int) bool { return over(n-k, n, 1-leastCoverage) }
	if !r.claimsOnly {
		if few(t.n-t.missed, t.n) {
			miss("coverage at a true effect of %s is %s %%, under %s %%", effect, rate(t.n-t.missed, t.n), share(leastCoverage))
		}
		return misses
	}
	seen := t.n - t.blind.n
	if wrong := t.wrong - t.blind.wrong; over(wrong, seen, mostFalse) {
		miss("false verdicts at a true effect of %s in %s %%, over %s %%", effect, rate(wrong, seen), share(mostFalse))
	}
	if r.tails {
		if held := seen - t.meanMissed + t.blind.meanMissed; few(held, seen) {
			miss("the mean's interval holds the truth in %s %%, under %s %%", rate(held, seen), share(leastCoverage))
		}
		return misses
	}
	if few(t.n-t.claimMissed, t.n) {
		miss("verdicts with intervals that do not hold the true effect of %s in %s %%, over %s %%", effect, rate(t.claimMissed, t.n), share(1-leastCoverage))
	}
	if n := t.equivalent - t.blind.equivalent; n > 0 {
		miss("an arm of which a trial failed is called equivalent in %s %%", rate(n, seen))
	}
	return misses
}

// elsewhere shows the same null experiments done one arm after the other.
func elsewhere(rows []sequentialRow) *table.Table {
	t := &table.Table{
		Title: "What others do: all trials of one arm, then all of the other",
		Notes: []string{
			fmt.Sprintf("False claims in %% where there is no difference. Averages: two means that differ by\nmore than %s %% are taken for a finding, without any interval.", share(threshold)),
		},
		Head: []string{"noise", "trials of each arm", "Welch's t", "Mann–Whitney", "averages"},
	}
	for _, r := range rows {
		o := r.tally
		t.Add(r.noise.name, fmt.Sprint(r.n), rate(o.welch, o.n), rate(o.rankSum, o.n), rate(o.averages, o.n))
	}
	return t
}

// rate is a count as a percentage of n.
func rate(k, n int) string { return fmt.Sprintf("%.2f", 100*float64(k)/float64(n)) }

// share is a share as a percentage in as few digits as it has.
func share(v float64) string { return number(math.Round(v*1e6) / 1e4) }

func number(v float64) string { return strconv.FormatFloat(v, 'g', 2, 64) }
