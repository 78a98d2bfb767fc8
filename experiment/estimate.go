package experiment

import "time"

// TrialsPerRound is the number of trials of one round: arms times cells.
func (p *Plan) TrialsPerRound() int { return len(p.Arms) * len(p.Cells) }

// Trials is the number of trials that the plan asks for, without repetitions of
// invalid ones: of all rounds, or with a precision goal of the pilot.
func (p *Plan) Trials() int { return p.Rounds * p.TrialsPerRound() }

// aroundTrial is the time that Tare itself takes around a trial, for proofs,
// sampling and the journal. It is an estimate for the user's planning only.
const aroundTrial = 100 * time.Millisecond

// Duration estimates how long a number of rounds takes when every trial is
// valid at once.
func (p *Plan) Duration(rounds int) time.Duration {
	var round time.Duration
	for _, c := range p.Cells {
		round += c.Expected + aroundTrial
	}
	return time.Duration(rounds*len(p.Arms)) * round
}
