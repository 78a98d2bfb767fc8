package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// mostReasons is how many differing properties a sentence names.
const mostReasons = 5

// observational says why what is concluded across runs is no experiment.
func (c *comparison) observational() string {
	if len(c.in) == 1 {
		return c.in[0].Run.Observational
	}
	text := "the runs were made " + c.times() + ", " + c.machines()
	said := map[string][]int{}
	for i, in := range c.in {
		o := in.Run.Observational
		said[o] = append(said[o], i+1)
	}
	for _, in := range c.in {
		if o := in.Run.Observational; o != "" && said[o] != nil {
			text += "; within " + named(said[o]) + ", " + o
			delete(said, o)
		}
	}
	return text
}

// times says when the runs were made, as exactly as it takes to tell them apart.
func (c *comparison) times() string {
	var at []string
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime} {
		at = nil
		for _, in := range c.in {
			if in.Run.Start.IsZero() {
				return "at times that are not all told"
			}
			at = append(at, in.Run.Start.UTC().Format(layout))
		}
		if len(slices.Compact(slices.Sorted(slices.Values(at)))) == len(at) {
			break
		}
	}
	return "at different times (" + strings.Join(at[:len(at)-1], ", ") + " and " + at[len(at)-1] + ")"
}

// machines says whether they were made on different machines.
func (c *comparison) machines() string {
	known := 0
	for _, in := range c.in {
		if in.Run.Environment != nil {
			known++
		}
	}
	var names []string
	for _, d := range c.result.Differences {
		if d.Group == Machine && !d.Minor {
			names = append(names, d.Path)
		}
	}
	if extra := len(names) - mostReasons; extra > 0 {
		names = append(names[:mostReasons], fmt.Sprintf("%d more", extra))
	}
	switch {
	case len(names) > 0:
		return "on machines that differ (" + strings.Join(names, ", ") + ")"
	case known < len(c.in):
		return "on machines that are not all on record"
	}
	return "on machines whose records are the same"
}

// doubts are what a reader must know before trusting a comparison of these runs.
func (c *comparison) doubts() {
	for i, in := range c.in {
		r := in.Run
		if !r.Finished {
			c.warn("run %d is not finished: %d of %d planned trials are done; what it says may change", i+1, r.Trials.Done, r.Trials.Planned)
		}
		if !r.Valid {
			c.warn("run %d gives no verdicts, and no comparison with it does: %s", i+1, strings.Join(r.Reasons, "; "))
		}
		if len(c.in) > 1 && r.Plan.Precision > 0 {
			c.warn("a pilot set the number of rounds of run %d; intervals across runs do not allow for that and may be a little narrow", i+1)
		}
	}
	own := c.plan()
	for i, in := range c.in {
		p := in.Run.Plan
		if p.Confidence != own.Confidence || p.Equivalence != own.Equivalence || p.Power != own.Power {
			c.warn("run %d was to be judged at another confidence, margin or power; here the rules of run %d hold", i+1, c.reference.Run)
		}
	}
}
