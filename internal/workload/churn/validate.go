package churn

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/workload"
)

// Bounds on the load of one trial.
const (
	mostObjects  = 200_000
	mostRequests = 500_000
	highestRate  = 10_000 // in 1/s
	longest      = 6 * time.Hour
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	workload.CheckNumbers(&errs, "objects", c.Objects, mostObjects, "objects")
	for i, r := range c.Rate {
		if r > highestRate {
			errs.Add(fmt.Sprintf("rate[%d]", i), "%v is more than %d/s", r, highestRate)
		}
	}
	churned := false
	for i, share := range c.Churn {
		churned = churned || share > 0
		if share > 1 {
			errs.Add(fmt.Sprintf("churn[%d]", i), "%v is more than all objects", share)
		}
	}
	if !churned && c.Duration > 0 {
		errs.Add("duration", "%v has no effect without churn, where a trial lasts until all objects are made", c.Duration)
	}
	workload.CheckTime(&errs, "duration", c.Duration, 0, longest)
	workload.CheckTime(&errs, "settle", c.Settle, 0, longest)
	workload.CheckTime(&errs, "readyTimeout", c.Ready, time.Second, longest)
	workload.CheckTime(&errs, "requestTimeout", c.Request, 100*time.Millisecond, longest)
	workload.CheckTime(&errs, "late", c.Late, time.Millisecond, longest)
	if len(errs) == 0 && float64(slices.Max(c.Objects))*4+float64(c.fixed())+float64(slices.Max(c.Rate))*c.Duration.Std().Seconds() > mostRequests {
		errs.Add("objects", "a trial could send more than %d requests: fewer objects, a lower rate or a shorter duration will do", mostRequests)
	}
	return append(errs, c.validateTemplates()...)
}

func (c *Config) validateTemplates() []experiment.FieldError {
	var errs experiment.FieldErrors
	moving := 0
	for i, t := range c.Templates {
		at := fmt.Sprintf("templates[%d]", i)
		field := at + ".inline"
		switch {
		case t.File != "":
			field = at + ".file"
		case t.Inline == "":
			field = at
		}
		if t.Fixed == 0 {
			moving++
		}
		s, err := t.compile()
		if err != nil {
			errs.Add(field, "%v", err)
			continue
		}
		if err := s.tryOut(c.churnsBy(scale) && t.Fixed == 0); err != nil {
			errs.Add(field, "%v", err)
			continue
		}
		if err := s.checkUpdate(); err != nil && c.churnsBy(Update) && t.Fixed == 0 {
			errs.Add(field, "%v", err)
		}
	}
	if moving == 0 {
		errs.Add("templates", "no template is left to make objects from: one without fixed is needed")
	}
	return errs
}

// churnsBy reports whether trials churn with this operation.
func (c *Config) churnsBy(o operation) bool {
	return c.Operation == o && slices.ContainsFunc(c.Churn, func(p quantity.Percent) bool { return p > 0 })
}

func (s *source) tryOut(scales bool) error {
	for i := range 2 {
		v := values{Index: i, Name: fmt.Sprintf("churn-%d-1", i), Namespace: "tare", Objects: 2, Revision: 1}
		object, err := s.render(v)
		if err != nil {
			return err
		}
		if scales {
			if _, err := scaling(object, up, 1); err != nil {
				return err
			}
		}
		if _, err := s.finish(object, v, ownership{}); err != nil {
			return err
		}
	}
	return nil
}

// judge checks the rules that only this workload has.
func (c *Config) judge(t *workload.Trial, out *outcome) error {
	lag := time.Duration(out.lag.ValueAtPercentile(99))
	reached := out.rate()
	switch {
	case out.succeeded == 0:
		return workload.Invalidf(workload.RuleErrors, "no request of %d succeeded: %s", len(out.requests), out.commonest())
	case out.unready > 0 && out.ready.TotalCount() == 0:
		return workload.Invalidf(workload.RuleTimeout, "no object was ready %v after the last request", c.Ready)
	case t.Late(lag, c.Late.Std()):
		return workload.Invalidf(workload.RuleLate, "send lag %v at its 99th percentile, over the limit of %v", lag.Round(time.Microsecond), c.Late)
	case out.unseen > c.Late.Std():
		return workload.Invalidf(workload.RuleLate, "a watch was broken for %v, in which objects may have become ready unseen", out.unseen.Round(time.Millisecond))
	case reached < out.offered*(1-float64(c.Shortfall)):
		return workload.Invalidf(workload.RuleRate, "%.1f of %.1f requests per second reached, less than %v allows (%d answers of 429, %d failures)",
			reached, out.offered, c.Shortfall, out.throttled, len(out.requests)-out.succeeded)
	}
	return nil
}

func (out *outcome) commonest() string {
	most, message := 0, "no failure was recorded"
	for m, n := range out.failures {
		if n > most || n == most && m < message {
			most, message = n, m
		}
	}
	return message
}
