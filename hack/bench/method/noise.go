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

	shape   shape   // of a trial's own noise
	noisier float64 // times as much noise as others have in a treatment; 0: as much
	uneasy  float64 // the same in the control
	period  float64 // trials that a wave takes which all share, of any phase …
	swing   float64 // … and its height; 0: none
	regimes float64 // by how much the slower of two states is slower, between which all trials change now and then
	arma    float64 // standard deviation of an ARMA(1,1) environment
	broken  float64 // share of the set-ups of each arm in which every trial fails
	busy    float64 // share of the treatments' trials, the slowest, that meet foreign load and are repeated

	stall       float64 // chance of a trial of a treatment to stall …
	stallTimes  float64 // … and to take so many times as long
	stallOthers float64 // chance of a trial of the baseline and the control to stall
	fails       float64 // chance of the program to fail in a trial of the baseline and the control
	armFails    float64 // the same in a treatment
	limit       float64 // how much slower than nominal a trial may be before it times out; 0: there is no limit
	absence     absence // what else fails
}

// shape is that of a trial's own noise; all have the same deviation.
type shape int

const (
	normal shape = iota
	gamma        // the logarithm of a gamma variable of shape 2
	heavy        // Student's t of 4 degrees of freedom
)

// own is a trial's own noise in deviations.
func (c *clock) own() float64 {
	switch c.shape {
	case gamma:
		return (math.Log(c.rng.ExpFloat64()+c.rng.ExpFloat64()) - digamma2) / math.Sqrt(trigamma2)
	case heavy:
		chi := 0.
		for range 4 {
			x := c.rng.NormFloat64()
			chi += x * x
		}
		return c.rng.NormFloat64() / math.Sqrt(chi/4) / math.Sqrt2 // of variance 2
	}
	return c.rng.NormFloat64()
}

// The mean and the variance of the logarithm of a gamma variable of shape 2.
const (
	digamma2  = 0.42278433509846714
	trigamma2 = 0.6449340668482264
)

// A machine of two states changes once in regimeTrials trials, and an ARMA environment keeps armaKeeps of itself and
// armaMoves of its last push.
const (
	regimeTrials         = 12
	armaKeeps, armaMoves = 0.7, 0.4
)

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
	rng    *rand.Rand
	state  float64 // of the AR(1) process
	step   float64 // of the trend, per trial
	done   int
	keeps  float64 // what the AR(1) process keeps until the next call
	wider  float64 // how many times as wide the noise of a call is as that of a trial
	phase  float64
	slowly bool    // of two regimes
	around float64 // the state of the ARMA environment
	pushed float64
}

// start begins a run that is planned to have that many trials of that many slices each.
func (n noise) start(rng *rand.Rand, trials, slices int) *clock {
	parts := float64(slices)
	return &clock{noise: n, rng: rng, state: rng.NormFloat64() * n.drift, step: n.trend / float64(trials) / parts,
		keeps: math.Pow(persistence, 1/parts), wider: math.Sqrt(parts), phase: rng.Float64(), slowly: n.regimes > 0 && rng.IntN(2) == 0}
}

// next is the logarithm of how much slower than nominal the next trial, or slice, runs, with so many times the noise.
func (c *clock) next(times float64) float64 {
	x := times*c.wider*c.sd*c.own() + c.step*float64(c.done)
	c.done++
	if c.swing > 0 {
		x += c.swing * math.Sin(2*math.Pi*(c.phase+float64(c.done)/c.period))
	}
	if c.regimes > 0 {
		if c.rng.Float64() < 1./regimeTrials {
			c.slowly = !c.slowly
		}
		if c.slowly {
			x += math.Log1p(c.regimes)
		}
	}
	if c.arma > 0 {
		push := c.rng.NormFloat64()
		c.around = armaKeeps*c.around + push + armaMoves*c.pushed
		c.pushed = push
		x += c.arma * c.around / math.Sqrt((1+2*armaKeeps*armaMoves+armaMoves*armaMoves)/(1-armaKeeps*armaKeeps))
	}
	if c.drift > 0 {
		x += c.state
		c.state = c.keeps*c.state + c.drift*math.Sqrt(1-c.keeps*c.keeps)*c.rng.NormFloat64()
	}
	if c.odds > 0 && c.rng.Float64() < c.odds {
		x += math.Log(c.slow)
	}
	return x
}
