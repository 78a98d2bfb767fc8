package experiment

import "math/rand/v2"

// Step is one trial to be run: indices into the plan's Cells and Arms.
type Step struct{ Cell, Arm int }

// leastRows is the number of rounds, or a few more, over which orders are balanced. With it a sum of deviations has at most
// 24/23 of the variance that independent orders give it; with one square of four, 4/3.
const leastRows = 24

// The random draws of a plan each come from a stream of their own.
const (
	streamCells uint64 = iota << 56
	streamArms
	streamSetUps
	streamTrials
)

// Order gives the trials of a round (counted from 1): cells in random order, and within
// each cell every arm that takes part once, so that the arms that are compared stand next to each other
// in time. It depends only on the seed and the round, and belongs to PlanSchema.
//
// The orders of the arms are the rows of Williams squares: within a square every arm stands
// in every position equally often, and every arm follows every other one equally often. So
// neither what the first of a round pays nor what one arm leaves to the next one adds up to
// a difference between arms. Each cell has squares of its own, each with new random labels. The rows of as many
// squares as make leastRows are put in one random order: the order in any one round is then any order of the arms
// with the same probability, and nearly independent of that in any other, which is what the tests within rounds
// rest on. The rows of one small square would not be: noise with a period of two rounds would add up.
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

// controlledFirst is the number of rounds at the beginning of a run in which the control always takes part: as many as
// an exact interval of it needs.
const controlledFirst = 6

// SpareControl has the control of a plan with a single arm take part in every third round only, after the first ones.
// It takes a third of the machine's time there, and more rounds in its place find more.
func (p *Plan) SpareControl() {
	if baselineControlAndArm := 3; len(p.Arms) == baselineControlAndArm {
		p.ControlEvery = 3
	}
}

// TakesPart says whether an arm has a trial in a round.
func (p *Plan) TakesPart(arm, round int) bool {
	return p.ControlEvery == 0 || p.Arms[arm].Role != Control || round <= controlledFirst || round%p.ControlEvery == 0
}

// RoundsOf is in how many of the first rounds an arm takes part.
func (p *Plan) RoundsOf(arm, rounds int) int {
	if p.ControlEvery == 0 || p.Arms[arm].Role != Control || rounds <= controlledFirst {
		return rounds
	}
	return controlledFirst + rounds/p.ControlEvery - controlledFirst/p.ControlEvery
}

// Trials is the number of trials of so many rounds, in one cell.
func (p *Plan) Trials(rounds int) (n int) {
	for arm := range p.Arms {
		n += p.RoundsOf(arm, rounds)
	}
	return n
}

// arms gives the order of the arms in a cell of a round.
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

// SetUpOrder is a random order of things that are set up, for one set-up of a run (counted
// from 1).
func (p *Plan) SetUpOrder(setUp, things int) []int {
	return rand.New(rand.NewPCG(p.Seed, streamSetUps|uint64(setUp))).Perm(things)
}

// TrialSeed is the seed of what one trial draws for itself: independent of that of any other round, cell, arm and
// run, and the same when the trial is repeated, so that no draw is chosen by which trials are lost.
func (p *Plan) TrialSeed(round int, s Step) uint64 {
	return rand.NewPCG(p.Seed, streamTrials|uint64(s.Cell)<<44|uint64(s.Arm)<<32|uint64(round)).Uint64()
}

// balancedRows is the number of rows that are in one random order: those of whole squares.
func balancedRows(k int) int {
	square := williamsRows(k)
	return (leastRows + square - 1) / square * square
}

// williamsRows is how many rows it takes until everything is balanced.
func williamsRows(k int) int {
	if k%2 == 1 && k > 1 {
		return 2 * k
	}
	return k
}

// williams gives a row of the square of size k after E. J. Williams, Experimental designs
// balanced for the estimation of residual effects of treatments, Australian Journal of
// Scientific Research A 2 (1949) 149–168, sections 3 and 4: the first row is 0, 1, k-1, 2,
// k-2, …, and each further one adds 1 modulo k. For even k one square is balanced for what a
// treatment leaves to the next one; for odd k it takes the mirrored square as well.
func williams(k, row int, mirrored bool) []int {
	order := make([]int, k)
	low, high := 1, k-1
	for i := 1; i < k; i++ {
		if i%2 == 1 {
			order[i], low = low, low+1
		} else {
			order[i], high = high, high-1
		}
	}
	for i := range order {
		order[i] = (order[i] + row) % k
	}
	if mirrored {
		for i, j := 0, k-1; i < j; i, j = i+1, j-1 {
			order[i], order[j] = order[j], order[i]
		}
	}
	return order
}
