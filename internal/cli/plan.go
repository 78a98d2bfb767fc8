package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/wording"
)

func newPlan(s State) *cobra.Command {
	var o overrides
	var out string
	var order bool
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show the plan of an experiment, and whether it can run here",
		Long: `Show the plan of an experiment: its arms and cells, the order of the first rounds for
the seed, the expected duration, the smallest number of rounds for a claim, and
requirements that are missing on this machine. The only program that runs is true, started
by each sandbox or other wrapper as a test.`,
		Example: `  tare plan examples/quickstart.yaml
  tare plan experiment.yaml --seed 7 --order
  tare plan experiment.yaml -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			o.seeded = c.Flags().Changed("seed")
			if err := tryNamespace(); err != nil {
				return err
			}
			x, expansion, err := o.expand(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			if out != "table" {
				return encode(s.Stdout, expansion.Plan, out)
			}
			try := func() {
				s.lines().text("  ", fmt.Sprintf("tare doctor --try %s sets every arm up once and makes its proofs", args[0]))
			}
			parts := slices.Concat(examine(c.Context(), neededBy(x), x), programs(c.Context(), x), references(x))
			printPlan(s.lines(), &expansion.Plan, x.Design.Seed != nil, order)
			if x.Testbed.Name() == experiment.TestbedKubernetes {
				fmt.Fprintln(s.Stdout, "\nOn the cluster")
				s.lines().text("  ", fmt.Sprintf("tare doctor %s asks it; nothing of it has been asked here", args[0]))
				try()
				printSecurity(s.lines(), expansion)
				if len(parts) == 0 {
					return nil
				}
			}
			fmt.Fprintln(s.Stdout, "\nOn this machine")
			if x.Testbed.Name() == experiment.TestbedLocal {
				try()
			}
			return printParts(s, parts, "table")
		},
	}
	c.Flags().IntVar(&o.rounds, "rounds", 0, "number of rounds, instead of the file's")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the random order")
	c.Flags().BoolVar(&order, "order", false, "list every trial in its order")
	addFormat(c, &out, "table", "json", "yaml")
	return c
}

func printPlan(l lines, p *experiment.Plan, seeded, whole bool) {
	title := p.Name
	if p.Description != "" {
		title += ": " + p.Description
	}
	for line := range strings.Lines(title) {
		l.hanging("", "", strings.TrimSuffix(line, "\n"))
	}
	fmt.Fprintln(l.w, "\nArms")
	l.rows("  ", each(p.Arms, func(a experiment.PlannedArm) []string { return []string{a.Name, string(a.Role), layerNames(a)} }))
	fmt.Fprintln(l.w, "\nCells")
	l.rows("  ", each(p.Cells, func(c experiment.Cell) []string {
		length := brief(c.Expected) + " a trial"
		if c.Slices > 0 {
			length += fmt.Sprintf(" in %d slices", c.Slices)
		}
		return []string{c.ID, length, "headline: " + headlines(c)}
	}))
	for _, c := range p.Cells {
		if c.Remark != "" {
			l.text("  ", c.ID+": "+c.Remark)
		}
	}
	fmt.Fprintln(l.w, "\nDesign")
	printDesign(l, p, seeded)
	fmt.Fprintln(l.w, "\nOrder")
	printOrder(l, p, whole)
}

// printSecurity prints the Pod Security level that the pods need, and the reasons.
func printSecurity(l lines, e *experiment.Expansion) {
	var needs experiment.Needs
	for cell := range e.Cells {
		for arm := range e.Plan.Arms {
			needs = needs.And(e.Needs(cell, arm))
		}
	}
	for _, n := range needs.PodSecurity {
		l.text("  ", fmt.Sprintf("pods need the level %s of Pod Security: %s", n.Level, n.Why))
	}
}

func printDesign(l lines, p *experiment.Plan, seeded bool) {
	say := func(format string, args ...any) { l.text("  ", fmt.Sprintf(format, args...)) }
	if p.Precision > 0 {
		say("a pilot of %d rounds, then as many as ±%v needs (at most %d)", p.Rounds, p.Precision, p.MaxRounds)
	} else if len(p.DecideAt) > 0 {
		say("at most %d rounds; looks after %s end the run if every headline comparison is decided", p.Rounds, p.LookRounds())
	} else {
		say("%d rounds", p.Rounds)
	}
	trials := p.Trials(p.Rounds) * len(p.Cells)
	if each := p.SetUpPerTrial(); each > 0 {
		say("%d trials, about %s, including %s for setting up (assumed: %s a trial)", trials, span(p.Duration(p.Rounds)), span(time.Duration(trials)*each), brief(each))
		say("every arm is set up for each of its trials, and no two arms are up at a time")
	} else {
		say("%d trials, about %s without setting up", trials, span(p.Duration(p.Rounds)))
		say("all arms are set up %s", setUps(p))
	}
	drawn := ""
	if !seeded {
		drawn = " (drawn now; another one at the next call)"
	}
	say("confidence %v, equivalence margin ±%v, seed %d%s", p.Confidence, p.Equivalence, p.Seed, drawn)
	fewest := analysis.FewestRounds(p)
	say("headline comparisons, under Holm's correction: %d; a claim needs at least %d rounds", p.HeadlineFamily(), fewest)
	if n := p.Effects(); n > 0 {
		say("factorial: all %d combinations of %s; %d main effects and interactions on headline metrics, a family of their own; a claim on them needs at least %d rounds", 1<<len(p.Factorial), strings.Join(p.Factorial, ", "), n, analysis.FewestForEffects(p))
	}
	if text := fewRounds(p); text != "" {
		say("warning: %s", text)
	}
	if text := gateWarning(p); text != "" {
		say("warning: %s", text)
	}
}

// fewRounds returns a warning if a plan has too few rounds for a claim, and otherwise "".
func fewRounds(p *experiment.Plan) string {
	if fewest := analysis.FewestRounds(p); p.Precision == 0 && p.Total() < fewest {
		return fmt.Sprintf("with %d rounds no exact interval can support any claim; set design.rounds to %d or more", p.Total(), fewest)
	}
	return ""
}

func setUps(p *experiment.Plan) string {
	rounds := p.Rounds
	switch n := int(p.SetUps); {
	case p.SetUps == experiment.SetUpsAuto:
		return "anew before every round where that takes under a quarter of a round's time, else as often as that allows, and at least as often as a claim needs"
	case p.SetUps == experiment.SetUpsOnce:
		return "once; what is found speaks of that one set-up"
	case p.SetUps == experiment.SetUpsEveryRound || n >= rounds:
		return "anew before every round"
	case p.Precision > 0:
		return "anew before every " + wording.Count(max(rounds/n, 1), "round", "rounds")
	default:
		return wording.Count(n, "time", "times") + " in all, before blocks of rounds"
	}
}

func printOrder(l lines, p *experiment.Plan, whole bool) {
	rounds := 1
	if whole {
		rounds = p.Rounds
	}
	for round := 1; round <= rounds; round++ {
		steps := p.Order(round)
		for block := range slices.Chunk(steps, len(steps)/len(p.Cells)) {
			arms := each(block, func(step experiment.Step) string { return p.Arms[step.Arm].Name })
			l.text("  ", fmt.Sprintf("round %d  %s: %s", round, p.Cells[block[0].Cell].ID, strings.Join(arms, ", ")))
		}
	}
	if !whole && p.Rounds > 1 {
		l.text("  ", "… every further round in its own order (--order lists them)")
	}
}

func layerNames(a experiment.PlannedArm) string {
	if len(a.Layers) == 0 {
		return "no layers"
	}
	text := strings.Join(each(a.Layers, func(l experiment.PlannedLayer) string { return l.Kind }), ", ")
	for _, l := range a.Levels {
		text += " " + l.String()
	}
	return text
}

func headlines(c experiment.Cell) string {
	var names []string
	for _, m := range c.Metrics {
		if m.Headline {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

func newValidate(s State) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check experiment files and report every problem",
		Long: `Check experiment files and report every problem, each with its line and column.
Nothing is run, and the machine is not examined.`,
		Example: `  tare validate experiment.yaml
  tare validate examples/*.yaml`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			code := ExitDone
			for _, name := range args {
				_, expansion, err := overrides{}.expand(c.Context(), s, name)
				if err != nil {
					code = max(code, conclude(s, err))
					continue
				}
				fmt.Fprintf(s.Stdout, "%s: ok\n", name)
				if text := gateWarning(&expansion.Plan); text != "" {
					fmt.Fprintln(s.Stderr, name+": warning: "+text)
				}
			}
			if code != ExitDone {
				return exit(code)
			}
			return nil
		},
	}
}
