package experiment

import (
	"math/rand/v2"
	"slices"
)

// Step is one trial to run, as indices into the plan's Cells and Arms.
type Step struct{ Cell, Arm int }

// leastRows is the least number of rounds over which arm orders are balanced. Balancing over n rounds raises the
// variance of a sum of values at most n/(n-1)-fold: little, from 24 rounds on.
const leastRows = 24

// The random draws of a plan come from separate streams.
const (
	streamCells uint64 = iota << 56
	streamArms
	streamSetUps
	streamTrials
)

// Order returns the trials of a round (counted from 1). Cells come in random order. Within a cell, every arm that takes
// part runs once, so that compared trials are close in time. The order depends only on the plan and the round. Another
// order needs another PlanSchema.
//
// The orders of the arms are rows of Williams squares, with new random labels for each square. Within a square, every
// arm has every position equally often, and follows every other arm equally often. Effects of position, and of one arm
// on the next, then do not add up to a difference between arms.
//
// The rows of at least leastRows rounds are put in one random order. In any one round, every order of the arms is then
// equally likely, and nearly independent of other rounds. The statistical tests within rounds rely on this. In one
// small square, noise with a period of two rounds would add up to a difference between arms.
func (p *Plan) Order(round int) []Step {
	rng := rand.New(rand.NewPCG(p.Seed, streamCells|uint64(round)))
	steps := make([]Step, 0, len(p.Cells)*len(p.Arms))
	for _, cell := range rng.Perm(len(p.Cells)) {
		for _, arm := range p.arms(cell, round) {
			if p.TakesPart(arm, round) {
				steps = append(steps, Step{Cell: cell, Arm: arm})
			}
		}
	}
	return steps
}

// controlledFirst is the number of first rounds that all have a control. The control needs them for an exact interval.
const controlledFirst = 6

// SpareControl lets the control run only in every third round after the first rounds, if there is a single treatment.
// The saved time gives more rounds.
func (p *Plan) SpareControl() {
	if baselineControlAndArm := 3; len(p.Arms) == baselineControlAndArm {
		p.ControlEvery = 3
	}
}

// TakesPart reports whether an arm has a trial in a round.
func (p *Plan) TakesPart(arm, round int) bool {
	return p.ControlEvery == 0 || p.Arms[arm].Role != Control || round <= controlledFirst || round%p.ControlEvery == 0
}

// RoundsOf returns in how many of a run's first rounds an arm takes part. The argument rounds is the number of first
// rounds.
func (p *Plan) RoundsOf(arm, rounds int) int {
	if p.ControlEvery == 0 || p.Arms[arm].Role != Control || rounds <= controlledFirst {
		return rounds
	}
	return controlledFirst + rounds/p.ControlEvery - controlledFirst/p.ControlEvery
}

// Trials returns the number of trials in one cell over this many rounds.
func (p *Plan) Trials(rounds int) (n int) {
	for arm := range p.Arms {
		n += p.RoundsOf(arm, rounds)
	}
	return n
}

func (p *Plan) arms(cell, round int) []int {
	k := len(p.Arms)
	square, rows := williamsRows(k), balancedRows(k)
	block, at := (round-1)/rows, (round-1)%rows
	rng := rand.New(rand.NewPCG(p.Seed, streamArms|uint64(cell)<<32|uint64(block)))
	row := rng.Perm(rows)[at]
	var labels []int
	for range row/square + 1 {
		labels = rng.Perm(k)
	}
	order := williams(k, row%k, row%square >= k)
	for i := range order {
		order[i] = labels[order[i]]
	}
	return order
}

// SetUpOrder returns a random order of the sites, for one set-up of a run (counted from 1).
func (p *Plan) SetUpOrder(setUp, sites int) []int {
	return rand.New(rand.NewPCG(p.Seed, streamSetUps|uint64(setUp))).Perm(sites)
}

// TrialSeed returns the seed for the random draws of one trial. A repeated trial keeps its seed, since repeats would
// otherwise favour some draws.
func (p *Plan) TrialSeed(round int, s Step) uint64 {
	return rand.NewPCG(p.Seed, streamTrials|uint64(s.Cell)<<44|uint64(s.Arm)<<32|uint64(round)).Uint64()
}

// balancedRows returns how many rows are put in one random order, for k arms. The rows form complete Williams squares.
func balancedRows(k int) int {
	square := williamsRows(k)
	return (leastRows + square - 1) / square * square
}

// williamsRows returns the number of rows of a Williams square. Over all rows of the square, each of k arms has every
// position, and follows every other arm, equally often.
func williamsRows(k int) int {
	if k%2 == 1 && k > 1 {
		return 2 * k
	}
	return k
}

// williams returns a row of the square of size k after E. J. Williams, Experimental designs balanced for the estimation
// of residual effects of treatments, Australian Journal of Scientific Research A 2 (1949) 149–168, sections 3 and 4.
// For an odd k, the mirrored square is needed beside the square itself.
func williams(k, row int, mirrored bool) []int {
	order := make([]int, k)
	for i := range order {
		order[i] = (k - i/2 + row) % k
		if i%2 == 1 {
			order[i] = ((i+1)/2 + row) % k
		}
	}
	if mirrored {
		slices.Reverse(order)
	}
	return order
}
