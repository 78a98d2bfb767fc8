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
}

// start begins a run that is planned to have that many trials.
func (n noise) start(rng *rand.Rand, trials int) *clock {
	return &clock{noise: n, rng: rng, state: rng.NormFloat64() * n.drift, step: n.trend / float64(trials)}
}

// next is the logarithm of how much slower than nominal the next trial runs.
func (c *clock) next() float64 {
	x := c.sd*c.rng.NormFloat64() + c.step*float64(c.done)
	c.done++
	if c.drift > 0 {
		x += c.state
		c.state = persistence*c.state + c.drift*math.Sqrt(1-persistence*persistence)*c.rng.NormFloat64()
	}
	if c.odds > 0 && c.rng.Float64() < c.odds {
		x += math.Log(c.slow)
	}
	return x
}
