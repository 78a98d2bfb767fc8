package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/workload"
)

// printed is the behaviour of a trial whose program printed lines on stderr.
func printed(lines ...string) workload.Behaviour {
	return workload.Behaviour{experiment.Stderr: {Marks: lines, Runs: 1}, experiment.Exit: {Marks: []string{"0"}, Runs: 1}, experiment.Output: {Bytes: 100, Lines: 5, Runs: 1}}
}

// with adds another aspect to the behaviour of printed.
func with(a experiment.Aspect, seen workload.Observation) workload.Behaviour {
	b := printed()
	b[a] = seen
	return b
}

// TestBehaviours: if programs behave otherwise in an arm than in the baseline, the first warning
// reports it, and gains and equivalence are withheld unless it may be chance. Costs are not
// withheld.
func TestBehaviours(t *testing.T) {
	const gain, equal, cost = -0.4, 0.0, 0.07
	always := func(b workload.Behaviour) func(int) workload.Behaviour {
		return func(int) workload.Behaviour { return b }
	}
	in := func(rounds int, b workload.Behaviour) func(int) workload.Behaviour {
		return func(round int) workload.Behaviour {
			if round <= rounds {
				return b
			}
			return printed()
		}
	}
	another := 0
	denied := printed("job: 1: cannot create /dev/null: Permission denied")
	for _, c := range []struct {
		name      string
		cost      float64
		base, arm func(round int) workload.Behaviour // of baseline and control
		change    func(*experiment.PlannedArm)
		want      string // of the first warning: "" for none
		verdict   Verdict
	}{
		{name: "nothing recorded", cost: gain, base: always(nil), arm: always(denied), verdict: Gains},
		{name: "the same", cost: gain, base: always(denied), arm: always(denied), verdict: Gains},
		{name: "the same but for numbers and directories", cost: gain, verdict: Gains,
			base: func(n int) workload.Behaviour { return printed(fmt.Sprintf("job[%d]: /tmp/x%d/cache is cold", n, n)) },
			arm:  func(n int) workload.Behaviour { return printed(fmt.Sprintf("job[9%d]: /run/y/cache is cold", n)) }},
		{name: "an error", cost: gain, base: always(printed()), arm: always(denied), verdict: Invalid,
			want: `stderr "job: 1: cannot create /dev/null: Permission denied" 12 of 12, 0 of 24, withholds`},
		{name: "equivalent with an error", cost: equal, base: always(printed()), arm: always(denied), verdict: Invalid,
			want: `stderr "job: 1: cannot create /dev/null: Permission denied" 12 of 12, 0 of 24, withholds`},
		{name: "a cost with an error", cost: cost, base: always(printed()), arm: always(denied), verdict: Costs,
			want: `stderr "job: 1: cannot create /dev/null: Permission denied" 12 of 12, 0 of 24, withholds`},
		{name: "an error behind what all print", cost: gain, base: always(printed("job begins")), arm: always(printed("job begins", "no space left", "no log")), verdict: Invalid,
			want: `stderr "no space left" and 1 more 12 of 12, 0 of 24, withholds`},
		{name: "what all print is missing", cost: gain, base: always(printed("job begins", "job ends")), arm: always(printed("job begins")), verdict: Invalid,
			want: `stderr "job ends" 0 of 12, 24 of 24, lacks, withholds`},
		{name: "allowed", cost: gain, base: always(printed()), arm: always(denied), verdict: Gains,
			change: func(a *experiment.PlannedArm) { a.Allow = []experiment.Aspect{experiment.Stderr} }},
		{name: "something else allowed", cost: gain, base: always(printed()), arm: always(denied), verdict: Invalid,
			change: func(a *experiment.PlannedArm) { a.Allow = []experiment.Aspect{experiment.Exit} },
			want:   `stderr "job: 1: cannot create /dev/null: Permission denied" 12 of 12, 0 of 24, withholds`},
		{name: "another program", cost: gain, base: always(printed()), arm: always(denied), verdict: Gains,
			change: func(a *experiment.PlannedArm) { a.OtherProgram = true },
			want:   `stderr "job: 1: cannot create /dev/null: Permission denied" 12 of 12, 0 of 24, other program`},
		{name: "in some trials", cost: gain, base: always(printed()), arm: in(3, denied), verdict: Invalid,
			want: `stderr "job: 1: cannot create /dev/null: Permission denied" 3 of 12, 0 of 24, withholds`},
		{name: "in so few that chance may do it", cost: gain, base: always(printed()), arm: in(2, denied), verdict: Gains,
			want: `stderr "job: 1: cannot create /dev/null: Permission denied" 2 of 12, 0 of 24`},
		{name: "sometimes in the baseline as well", cost: gain, base: in(2, denied), arm: in(3, denied), verdict: Gains},
		{name: "far more often than in the baseline", cost: gain, base: in(1, denied), arm: always(denied), verdict: Invalid,
			want: `stderr "job: 1: cannot create /dev/null: Permission denied" 12 of 12, 2 of 24, withholds`},
		{name: "always something else", cost: gain, verdict: Gains,
			base: func(int) workload.Behaviour { another++; return printed("word " + strings.Repeat("b", another)) },
			arm:  func(n int) workload.Behaviour { return printed("word " + strings.Repeat("a", n)) }},
		{name: "another exit status", cost: gain, base: always(printed()), arm: always(with(experiment.Exit, workload.Observation{Marks: []string{"1"}, Runs: 1})), verdict: Invalid,
			want: `exit "1" 12 of 12, 0 of 24, withholds`},
		{name: "no output", cost: gain, base: always(printed()), arm: always(with(experiment.Output, workload.Observation{Runs: 1})), verdict: Invalid,
			want: `output "nothing" 12 of 12, 0 of 24, withholds`},
		{name: "half the output", cost: gain, base: always(printed()), arm: always(with(experiment.Output, workload.Observation{Bytes: 50, Lines: 5, Runs: 1})), verdict: Invalid,
			want: `output "far-less" 12 of 12, 0 of 24, withholds`},
		{name: "numbers with one digit more", cost: gain, base: always(printed()), arm: always(with(experiment.Output, workload.Observation{Bytes: 105, Lines: 5, Runs: 1})), verdict: Gains},
		{name: "fewer lines than always", cost: gain, base: always(printed()), arm: always(with(experiment.Output, workload.Observation{Bytes: 80, Lines: 4, Runs: 1})), verdict: Invalid,
			want: `output "other-lines" 12 of 12, 0 of 24, withholds`},
		{name: "more runs in a trial", cost: gain, base: always(printed()), arm: always(with(experiment.Output, workload.Observation{Bytes: 400, Lines: 20, Runs: 4})), verdict: Gains},
		{name: "the output of another program", cost: gain, base: always(printed()), arm: always(with(experiment.Output, workload.Observation{Runs: 1})), verdict: Gains,
			change: func(a *experiment.PlannedArm) { a.OtherProgram = true }},
		{name: "the output of another program, which was to be the same", cost: gain, verdict: Invalid,
			base:   always(with(experiment.Output, workload.Observation{Marks: []string{"sha256:a"}, Bytes: 9, Runs: 1})),
			arm:    always(with(experiment.Output, workload.Observation{Marks: []string{"sha256:b"}, Bytes: 9, Runs: 1})),
			change: func(a *experiment.PlannedArm) { a.OtherProgram = true },
			want:   `output "sha256:b" 12 of 12, 0 of 24, withholds, other program`},
		{name: "answers that are errors", cost: gain, base: always(printed()), arm: always(with(experiment.Answers, workload.Observation{Marks: []string{"status-503"}, Bytes: 0, Runs: 990})), verdict: Invalid,
			want: `answers "status-503" 12 of 12, 0 of 24, withholds`},
		{name: "short answers", cost: gain, base: always(with(experiment.Answers, workload.Observation{Bytes: 990000, Runs: 990})), arm: always(with(experiment.Answers, workload.Observation{Bytes: 9900, Runs: 990})), verdict: Invalid,
			want: `answers "far-less" 12 of 12, 0 of 24, withholds`},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := testPlan(12, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
			if c.change != nil {
				c.change(&plan.Arms[2])
			}
			trials := testTrials(plan, 12, scripted(map[string][]float64{"layer": around(c.cost, 0.3, 0), "control": around(0, 0.3, 5)}))
			for i := range trials {
				of := c.base
				if trials[i].Arm == "layer" {
					of = c.arm
				}
				trials[i].Behaviour = of(trials[i].Round)
			}
			run := Analyze(plan, trials, nil)
			got := ""
			if len(run.Warnings) > 0 {
				if f, ok := run.Warnings[0].Finding.(OtherBehaviour); ok {
					got = behaviourText(f)
				}
			}
			if got != c.want {
				t.Errorf("first warning %s\nwant %s", got, c.want)
			}
			of := run.Comparisons[0]
			if of.Verdict != c.verdict {
				t.Errorf("%s, want %s", said(of), c.verdict)
			}
			if f, is := of.Reason.(OtherBehaviour); is != (c.verdict == Invalid) || is && behaviourText(f) != c.want {
				t.Errorf("reason %v", of.Reason)
			}
		})
	}
}

func behaviourText(f OtherBehaviour) string {
	text := fmt.Sprintf("%s %q", f.Aspect, f.Mark)
	if f.More > 0 {
		text += fmt.Sprintf(" and %d more", f.More)
	}
	text += fmt.Sprintf(" %d of %d, %d of %d", f.Count, f.Of, f.Reference, f.Among)
	for _, is := range []struct {
		so   bool
		text string
	}{{f.Lacks, ", lacks"}, {f.Withholds, ", withholds"}, {f.OtherProgram, ", other program"}} {
		if is.so {
			text += is.text
		}
	}
	return text
}

// TestBehaviourClaims counts how often verdicts are withheld by mistake if all arms behave the
// same, with random differences between trials.
func TestBehaviourClaims(t *testing.T) {
	words := func(r *rand.Rand, n int) string { return string(rune('a' + r.IntN(n))) }
	lines := func(share float64, n int) func(r *rand.Rand) workload.Behaviour {
		return func(r *rand.Rand) workload.Behaviour {
			var list []string
			for i := range n {
				if r.Float64() < share {
					list = append(list, "warning "+string(rune('a'+i)))
				}
			}
			return printed(list...)
		}
	}
	size := func(spread float64, even bool) func(r *rand.Rand) workload.Behaviour {
		return func(r *rand.Rand) workload.Behaviour {
			n := int64(1 + 1000*(1+spread*r.ExpFloat64()))
			lines := n / 20
			if even {
				lines = 50
			}
			return with(experiment.Output, workload.Observation{Bytes: n, Lines: lines, Runs: 1})
		}
	}
	for k, c := range []struct {
		what string
		n    int
		draw func(r *rand.Rand) workload.Behaviour
	}{
		{"one line in 5 % of trials", 12, lines(0.05, 1)}, {"one line in 30 % of trials", 12, lines(0.3, 1)}, {"one line in half of all trials", 6, lines(0.5, 1)},
		{"ten lines, each in 20 % of trials", 12, lines(0.2, 10)}, {"ten lines, each in 20 % of trials", 40, lines(0.2, 10)},
		{"a word of three", 6, func(r *rand.Rand) workload.Behaviour { return printed(words(r, 3)) }},
		{"a word of twenty", 12, func(r *rand.Rand) workload.Behaviour { return printed(words(r, 20)) }},
		{"output of 1 to 1.1 KB, always of 50 lines", 12, size(0.05, true)}, {"output of 1 to 5 KB (exponential)", 12, size(1, false)}, {"output of 1 to 5 KB (exponential)", 6, size(1, false)},
	} {
		r := rand.New(rand.NewPCG(uint64(k), 11))
		plan := testPlan(c.n, []experiment.Metric{headline("time", experiment.Lower)}, "layer")
		withheld, told := 0, 0
		for range *simulated {
			trials := testTrials(plan, c.n, func(int, string, string, string) float64 { return 100 })
			for i := range trials {
				trials[i].Behaviour = c.draw(r)
			}
			list := tabulate(plan, trials, validOnly).behaviours()
			if len(list) > 0 {
				told++
			}
			if len(list) > 0 && list[0].Finding.(OtherBehaviour).Withholds {
				withheld++
			}
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(*simulated) }
		fmt.Fprintf(t.Output(), "| %s | %d | %.1f %% | %.1f %% |\n", c.what, c.n, share(withheld), share(told))
		within(t, fmt.Sprintf("%s, %d rounds", c.what, c.n), withheld, 0, 0.05)
	}
}
