package main

import (
	"math"
	"math/rand/v2"
)

// noise is a kind of disturbance. Every trial has independent log-normal noise
// of its own, and on top of that what the kind adds.
type noise struct {
	name  string
	about string
	sd    float64 // of a trial's own noise
	drift float64 // standard deviation of a slow AR(1) environment that all trials share
	trend float64 // rise over the planned run, on the log scale
	odds  float64 // chance of a trial being slow …
	slow  float64 // … by this factor
	first float64 // by how much the first trial of a round is slower
	grid  float64 // step to which values are rounded, as a share of the nominal value
	setUp float64 // standard deviation of what each set-up draws for an arm

	broken float64 // share of the set-ups of each arm in which every trial fails
	busy   float64 // share of the treatments' trials, the slowest, that meet foreign load and are repeated

	stall       float64 // chance of a trial of a treatment to stall …
	stallTimes  float64 // … and to take so many times as long
	stallOthers float64 // chance of a trial of the baseline and the control to stall
	fails       float64 // chance of the program to fail in a trial of the baseline and the control
	armFails    float64 // the same in a treatment
	limit       float64 // how much slower than nominal a trial may be before it times out; 0: there is no limit
	absence     absence // what else fails
}

// rare says whether some trials of a treatment stall or fail, and others do not.
func (n *noise) rare() bool {
	return n.stall > 0 || n.armFails > 0 || n.broken > 0 || n.limit > 0 || n.absence.share > 0
}

// persistence of the AR(1) environment from one trial to the next.
const persistence = 0.9

// noises are the environments of the tables.
var noises = []noise{
	{name: "iid", about: "independent noise of 2 % on every trial", sd: 0.02},
	{name: "drift", about: "the same, in an environment that drifts by 3 % (AR(1), 0.9 from trial to trial)", sd: 0.02, drift: 0.03},
	{name: "trend", about: "the same, with everything getting 6 % slower over the run", sd: 0.02, trend: math.Log(1.06)},
	{name: "spiky", about: "the same, with 5 % of trials 20 % slower", sd: 0.02, odds: 0.05, slow: 1.2},
	{name: "bimodal", about: "the same, with 30 % of trials in a mode 10 % slower", sd: 0.02, odds: 0.3, slow: 1.1},
}

// clock is an environment as time goes by: each call of next is one trial.
type clock struct {
	noise
	rng   *rand.Rand
	state float64 // of the AR(1) process
	step  float64 // of the trend, per trial
	done  int
	keeps float64 // what the AR(1) process keeps until the next call
	wider float64 // how many times as wide the noise of a call is as that of a trial
}

// start begins a run that is planned to have that many trials of that many slices each.
func (n noise) start(rng *rand.Rand, trials, slices int) *clock {
	parts := float64(slices)
	return &clock{noise: n, rng: rng, state: rng.NormFloat64() * n.drift, step: n.trend / float64(trials) / parts,
		keeps: math.Pow(persistence, 1/parts), wider: math.Sqrt(parts)}
}

// next is the logarithm of how much slower than nominal the next trial, or slice, runs.
func (c *clock) next() float64 {
	x := c.wider*c.sd*c.rng.NormFloat64() + c.step*float64(c.done)
	c.done++
	if c.drift > 0 {
		x += c.state
		c.state = c.keeps*c.state + c.drift*math.Sqrt(1-c.keeps*c.keeps)*c.rng.NormFloat64()
	}
	if c.odds > 0 && c.rng.Float64() < c.odds {
		x += math.Log(c.slow)
	}
	return x
}
