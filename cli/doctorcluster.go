package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tare/catalog"
	"tare/experiment"
	"tare/layer"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube"
)

// optionKind is the kind of part that an experiment can do without.
const optionKind = "option"

// anyExperiment stands for what most experiments ask of a cluster.
const anyExperiment = `apiVersion: tare/v1alpha1
kind: Experiment
name: any
testbed: {kubernetes: {}}
arms: [{name: any}]
workloads: [{network: {}}]
`

// onCluster says whether doctor is asked about a cluster: the experiment's, or
// that of a context.
func onCluster(x *experiment.Experiment, contextName string) bool {
	return contextName != "" || x != nil && x.Testbed.Kubernetes != nil
}

// examineCluster says what works on a cluster for an experiment, or without one
// for most. Name is a context of the kubeconfig, in place of the experiment's.
func examineCluster(ctx context.Context, x *experiment.Experiment, name string) (parts []part, err error) {
	use := kube.Everything("")
	if x == nil {
		if x, err = experiment.Load("any", []byte(anyExperiment), catalog.Kinds()); err != nil {
			return nil, err
		}
	} else {
		use = kube.UseOf(x)
	}
	k := x.Testbed.Kubernetes
	if k == nil {
		return nil, usage(fmt.Errorf("--context names a cluster, and the testbed of %s is this machine", x.Name))
	}
	if name != "" {
		k.Context = name
	}
	expansion, err := experiment.Expand(x, Version())
	if err != nil {
		return nil, usage(err)
	}
	bed, err := kube.New(kube.Options{Version: Version()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	for _, one := range contexts(k, expansion) {
		e, err := bed.Examine(ctx, one, k.Timeouts, use)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{"testbed", "kubernetes " + e.Context, e.Findings})
		if len(e.Optional) > 0 {
			parts = append(parts, part{optionKind, "record of " + e.Context, e.Optional})
		}
	}
	if slices.ContainsFunc(parts, func(p part) bool { return !p.usable() }) {
		return parts, nil // rights come first: without them dry runs say the same again
	}
	made := part{"testbed", "pods", nil}
	for arm := range expansion.Layers {
		if expansion.Plan.Arms[arm].Role == experiment.Control {
			continue // the baseline once more
		}
		findings, err := tryArm(ctx, bed, expansion, arm)
		if err != nil {
			return nil, err
		}
		for _, f := range findings {
			if !slices.Contains(made.Findings, f) { // arms may share some
				made.Findings = append(made.Findings, f)
			}
		}
	}
	return append(parts, made), nil
}

// contexts are those that arms are on: the testbed's, and those of layers.
func contexts(k *experiment.Kubernetes, x *experiment.Expansion) []string {
	list := []string{k.Context}
	for _, items := range x.Layers {
		for _, item := range items {
			if other := item.Config.Declare().Context; other != "" && !slices.Contains(list, other) {
				list = append(list, other)
			}
		}
	}
	return list
}

// tryArm tries by dry runs whether the site of an arm could be made. Of its layers
// those are put up that only change what the site is asked to be; what others do
// to a cluster is tried by running the experiment only.
func tryArm(ctx context.Context, bed *kube.Testbed, x *experiment.Expansion, arm int) ([]testbed.Finding, error) {
	var needs experiment.Needs
	for cell := range x.Cells {
		needs = needs.And(x.Needs(cell, arm))
	}
	name := x.Plan.Arms[arm].Name
	site, err := bed.Open(ctx, testbed.Request{Name: name, Needs: needs, Level: x.Cells[0].Testbed.Level()})
	if err != nil {
		return nil, err
	}
	for _, item := range x.Layers[arm] {
		l, ok := item.Config.(layer.Layer)
		if !ok || !l.Declare().Shapes {
			continue
		}
		if _, err := l.Up(ctx, new(layer.Run).At(site)); err != nil {
			return []testbed.Finding{{Name: "layer " + item.Kind + " of arm " + name, Status: testbed.Refused, Detail: safetext.Name(err.Error())}}, ctx.Err()
		}
	}
	s, err := kube.Of(site)
	if err != nil {
		return nil, err
	}
	return s.Try(ctx)
}
