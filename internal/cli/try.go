package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/run/runner"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
	"tare/internal/version"
)

// armKind is the kind of a part that stands for an arm.
const armKind = "arm"

// tryArms sets up every arm of an experiment as a run does, and returns the findings.
func tryArms(ctx context.Context, s State, x *experiment.Experiment) ([]part, error) {
	e, err := experiment.Expand(x, version.String())
	if err != nil {
		return nil, usage(err)
	}
	values, err := readValues(x, nil)
	if err != nil {
		return nil, err
	}
	progress := newProgress(s, "", false)
	progress.mask = values.mask
	bed, err := openBed(e, nil, progress.wait)
	if err != nil {
		return nil, err
	}
	tried, err := runner.Try(reference.With(ctx, values.values), e, bed, progress.event)
	progress.end()
	parts := armParts(tried)
	for _, p := range parts {
		for i := range p.Findings {
			p.Findings[i].Detail = values.mask.Text(p.Findings[i].Detail)
		}
	}
	return parts, values.masked(errors.Join(err, bed.Close()))
}

// armParts returns a part for each arm, with a finding for its site and for each layer. If an arm has sites at
// several levels, each site is a part, named by its first cell.
func armParts(tried []runner.Tried) []part {
	sites := map[string]int{}
	for _, t := range tried {
		sites[t.Arm]++
	}
	var parts []part
	for _, t := range tried {
		p := part{Kind: armKind, Name: t.Arm}
		if sites[t.Arm] > 1 {
			p.Name += " for " + t.Cell
		}
		if t.Err != nil {
			p.Findings = append(p.Findings, refused(onOff(t.Layer, ""), t.Err))
		} else {
			p.Findings = append(p.Findings, testbed.Finding{Name: onOff("", ""), Status: testbed.Works, Detail: "ready after " + brief(t.Ready)})
		}
		for _, l := range t.Layers {
			p.Findings = append(p.Findings, shownBy(l))
		}
		for _, w := range t.Workloads {
			f := testbed.Finding{Name: w.Name, Status: testbed.Works, Detail: "what it makes becomes ready"}
			if w.Err != nil {
				f = refused(w.Name, w.Err)
			}
			p.Findings = append(p.Findings, f)
		}
		parts = append(parts, p)
	}
	return parts
}

// onOff names the check of a layer, or of the site if of is "".
func onOff(kind, of string) string {
	switch {
	case kind == "":
		return "set-up"
	case of == "":
		return kind + " on"
	}
	return fmt.Sprintf("%s off (%s's)", kind, of)
}

// shownBy returns the finding of a layer's proofs.
func shownBy(l runner.TriedLayer) testbed.Finding {
	name := onOff(l.Kind, l.Of)
	var seen []string
	for _, c := range l.Checks {
		if !c.OK {
			return refused(name, errors.New(c.Name+": expected "+c.Expected+", observed "+c.Observed))
		}
		seen = append(seen, evidenceOf(c))
	}
	if l.Err != nil {
		return refused(name, l.Err)
	}
	switch {
	case l.Later && len(seen) > 0:
		seen = append(seen, "trials show more")
	case l.Later:
		seen = append(seen, "put up; only trials show it")
	}
	return testbed.Finding{Name: name, Status: testbed.Works, Detail: safetext.Line(strings.Join(seen, "; "))}
}

func evidenceOf(c layer.Check) string {
	text := c.Name + ": " + c.Observed
	if c.Caveat != "" {
		text += " (" + c.Caveat + ")"
	}
	return text
}

// refused returns the finding of a failure.
func refused(name string, err error) testbed.Finding {
	return testbed.Finding{Name: name, Status: testbed.Refused, Detail: safetext.Line(err.Error())}
}
