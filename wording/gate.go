package wording

import "tare/gate"

// GateReason says why a case has its outcome.
func GateReason(r gate.Reason) string {
	switch r {
	case gate.Within:
		return "the interval ends within the limit"
	case gate.Exceeds:
		return "shown to be over the limit"
	case gate.Straddles:
		return "the limit lies within the interval"
	case gate.NotByHolm:
		return "over the limit by itself, but not as one of so many cases"
	case gate.UnderBias:
		return "not clear of the limit by more than the control differs from the baseline"
	case gate.TooFew:
		return "too few values for an interval that holds for any noise"
	case gate.NoData:
		return "no values to compare"
	case gate.NoControl:
		return "too few values of the control to stand against"
	case gate.NotFinished:
		return "the run is not finished"
	case gate.NotRandom:
		return "the run is observational"
	case gate.NoHistory:
		return "nothing in the history to compare with"
	}
	return "the run gives no verdicts"
}

// GateReasons say why the run of a gate gives no verdicts; empty if it does.
func GateReasons(r *gate.Result) []string {
	if !r.Valid && len(r.Reasons) == 0 {
		return []string{GateReason(gate.NoVerdicts)}
	}
	return Reasons(r.Reasons)
}
