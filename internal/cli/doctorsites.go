package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/run/runner"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/text/safetext"
	"tare/internal/version"
)

// clusterNeeds lists what an experiment needs of clusters: rights, and sites of arms.
type clusterNeeds struct {
	bed      *experiment.Kubernetes
	contexts []string
	use      kube.Use
	arms     []wantedArm
}

type wantedArm struct {
	site   testbed.Request
	layers []experiment.LayerItem
}

// examineCluster tests whether clusters meet the needs of an experiment; nil: of most experiments. With dry = true, it
// tries the arms' sites by dry runs.
func examineCluster(ctx context.Context, x *experiment.Experiment, name, namespace string, dry bool) (parts []part, err error) {
	w, err := needsOf(x, name, namespace)
	if err != nil {
		return nil, usage(err)
	}
	bed, err := kube.New(kube.Options{Version: version.String()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	for _, one := range w.contexts {
		e, err := bed.Examine(ctx, one, w.bed.Timeouts, w.use)
		if err != nil {
			return nil, err
		}
		if e.Reach.Name != "" {
			parts = append(parts, part{optionKind, "reach in " + e.Context, []testbed.Finding{e.Reach}})
		}
		parts = append(parts, part{"testbed", "kubernetes " + e.Context, e.Findings})
		if len(e.Optional) > 0 {
			parts = append(parts, part{optionKind, "record of " + e.Context, e.Optional})
		}
	}
	if !dry || slices.ContainsFunc(parts, part.unusable) {
		return parts, nil // without the rights, dry runs would only report the missing rights again
	}
	made := part{"testbed", "pods", nil}
	for _, arm := range w.arms {
		findings, err := tryArm(ctx, bed, arm)
		if err != nil {
			return nil, err
		}
		for _, f := range findings {
			if !slices.Contains(made.Findings, f) { // arms may share some findings
				made.Findings = append(made.Findings, f)
			}
		}
	}
	return append(parts, made), nil
}

// needsOf returns an experiment's needs of each cluster that its arms use. For nil it returns the needs of most
// experiments: every right, and two pods.
func needsOf(x *experiment.Experiment, context, namespace string) (clusterNeeds, error) {
	if x == nil {
		k := experiment.NewKubernetes()
		k.Context, k.Namespace = context, namespace
		site := testbed.Request{Name: "any", Needs: experiment.Needs{Network: true}, Level: k}
		return clusterNeeds{bed: k, contexts: []string{context}, use: kube.Everything(namespace), arms: []wantedArm{{site: site}}}, nil
	}
	k := x.Testbed.Kubernetes
	switch {
	case k == nil && context == "":
		return clusterNeeds{}, fmt.Errorf("--namespace is of a cluster, and the testbed of %s is this machine", x.Name)
	case k == nil:
		return clusterNeeds{}, fmt.Errorf("--context names a cluster, and the testbed of %s is this machine", x.Name)
	}
	k.Context, k.Namespace = cmp.Or(context, k.Context), cmp.Or(namespace, k.Namespace)
	e, err := experiment.Expand(x, version.String())
	if err != nil {
		return clusterNeeds{}, err
	}
	w := clusterNeeds{bed: k, contexts: []string{k.Context}, use: kube.UseOf(x)}
	for arm, items := range e.Layers {
		for _, item := range items {
			if other := item.Config.Declare().Context; other != "" && !slices.Contains(w.contexts, other) {
				w.contexts = append(w.contexts, other)
			}
		}
		if e.Plan.Arms[arm].Role == experiment.Control {
			continue // the control has the same needs as the baseline, which is checked already
		}
		var needs experiment.Needs
		for cell := range e.Cells {
			needs = needs.And(e.Needs(cell, arm))
		}
		site := testbed.Request{Name: e.Plan.Arms[arm].Name, Needs: needs, Level: e.Cells[0].Testbed.Level()}
		w.arms = append(w.arms, wantedArm{site: site, layers: items})
	}
	return w, nil
}

// tryArm tests by a dry run whether the cluster would create an arm's site. It applies only layers that change nothing
// but the site's description.
func tryArm(ctx context.Context, bed *kube.Testbed, arm wantedArm) ([]testbed.Finding, error) {
	site, err := bed.Open(ctx, arm.site)
	if err != nil {
		return nil, err
	}
	for _, item := range arm.layers {
		l, ok := item.Config.(layer.Layer)
		if !ok || !l.Declare().Shapes {
			continue
		}
		if _, err := l.Up(ctx, new(layer.Run).At(site)); err != nil {
			return []testbed.Finding{{Name: "layer " + item.Kind + " of arm " + arm.site.Name, Status: testbed.Refused, Detail: safetext.Name(err.Error())}}, ctx.Err()
		}
	}
	s, err := kube.Of(site)
	if err != nil {
		return nil, err
	}
	return s.Try(ctx)
}

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

// armParts returns a part for each site of an arm. If an arm has several sites, a part's name contains the site's first
// cell.
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

// onOff names a check: "set-up", "ipsec on" or "ipsec off (tunnel's)". of is the arm whose layer must be off; "": the
// layer must be on.
func onOff(kind, of string) string {
	switch {
	case kind == "":
		return "set-up"
	case of == "":
		return kind + " on"
	}
	return fmt.Sprintf("%s off (%s's)", kind, of)
}

func shownBy(l runner.TriedLayer) testbed.Finding {
	name := onOff(l.Kind, l.Of)
	var seen []string
	for _, c := range l.Checks {
		if !c.OK {
			return refused(name, errors.New(c.Name+": expected "+c.Expected+", observed "+c.Observed))
		}
		text := c.Name + ": " + c.Observed
		if c.Caveat != "" {
			text += " (" + c.Caveat + ")"
		}
		seen = append(seen, text)
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

func refused(name string, err error) testbed.Finding {
	return testbed.Finding{Name: name, Status: testbed.Refused, Detail: safetext.Line(err.Error())}
}
