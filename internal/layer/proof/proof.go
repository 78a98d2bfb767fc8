// Package proof is a layer that changes nothing. It runs programs whose output shows that other layers of its arm are
// really on, and that they are off in the other arms.
//
//   - proof:
//     checks:
//   - name: encryption between nodes
//     pods: {namespace: kube-system, labels: {k8s-app: cilium}}
//     container: cilium-agent
//     run: [cilium-dbg, encrypt, status]
//     on: 'Encryption: +Wireguard'
//     off: 'Encryption: +Disabled'
//
// An applied manifest does not show that anything acts on it. A program in the pod under test, in its sidecar or in the
// agent on its node can show whether something acts on the manifest. In the arm with the layer, the program's standard
// output must match the pattern on, or contain a number that grows during the trial. In the other arms, the output must
// match the pattern off. Without a pattern off, the program must succeed in the other arms and its output must not
// match
// the pattern on.
package proof

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/placeholder"
	"tare/internal/testbed"
)

const name = "proof"

type config struct {
	Checks []Item `yaml:"checks" json:"checks" required:"true" doc:"programs whose output shows whether a mechanism is on"`
}

// Item is one check: a program, and the patterns that its output must match.
type Item struct {
	Name      string              `yaml:"name" json:"name" required:"true" pattern:"^\\S(.{0,78}\\S)?$" form:"up to 80 characters on one line" doc:"name of the check"`
	In        testbed.Place       `yaml:"in" json:"in,omitempty" doc:"place where the program runs, like a program of the workload: host, client-pod, server-pod, client-node or server-node"`
	Pods      *Pods               `yaml:"pods" json:"pods,omitempty" doc:"other pods of the cluster, in which the program runs, instead of in"`
	Container string              `yaml:"container" json:"container,omitempty" doc:"container of the pod, such as a sidecar; absent: the first container with pods, and Tare's own with client-pod and server-pod"`
	Run       reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments; its standard output is checked"`
	On        string              `yaml:"on" json:"on,omitempty" doc:"regular expression that matches in the arm with the layer; ^ and $ match at each line"`
	Grows     string              `yaml:"grows" json:"grows,omitempty" doc:"instead of on: regular expression with one group, a number that grows during each trial; in the arms without the layer it must not match"`
	Off       string              `yaml:"off" json:"off,omitempty" doc:"regular expression that matches in the arms without the layer; if absent, on must not match, and the program must succeed"`
	When      when                `yaml:"when" json:"when,omitempty" enum:"before,after,once" doc:"time of the check: before each trial, after it, or once for the pods of an arm"`
}

// Pods selects pods of the cluster.
type Pods struct {
	Namespace string            `yaml:"namespace" json:"namespace,omitempty" doc:"namespace of the pods; the arm's if absent"`
	Labels    map[string]string `yaml:"labels" json:"labels" required:"true" doc:"labels of the pods"`
	Node      node              `yaml:"node" json:"node,omitempty" enum:"client,server,both,any,all" doc:"pods to use: on the client's node, the server's node or both nodes, any one pod, or all; absent: both"`
}

type node string // which pods to use, by the nodes on which they run

const (
	client node = "client"
	server node = "server"
	Both   node = "both"
	Any    node = "any"
	all    node = "all"
)

// when is the time of a check in the arm with the layer: before or after each trial, or once. Other arms make the check
// before each trial, or once.
type when string

const (
	before when = "before"
	after  when = "after"
	Once   when = "once"
)

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "programs whose output shows that other layers of the arm are on",
	Example: "checks:\n  - {name: it is on, in: client-pod, run: [cat, /proc/version], on: gVisor, off: Linux}",
	New:     func() layer.Layer { return &config{} },
	Probe:   testbed.AlwaysWorks(name, "any programs of this machine, of the pods under test, and of other pods of the cluster"),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.needs(), Programs: c.programs(), Rights: c.rights, ProvesBeside: true,
		Elsewhere: "there are no pods and containers: run a program of this machine, with in: client-pod or server-pod"}
}

func (c *config) needs() experiment.Needs {
	var n experiment.Needs
	for _, item := range c.Checks {
		switch item.In {
		case testbed.ClientPod, testbed.ServerPod:
			n.Network = true
		case testbed.ClientNode, testbed.ServerNode:
			n.Network, n.HostNetwork = true, true
		}
		if item.Pods != nil || item.Container != "" {
			n.Only = experiment.TestbedKubernetes
		}
	}
	return n
}

// programs lists the programs of those checks that run on Tare's machine. The other checks run in pods, or at places of
// the workload.
func (c *config) programs() []experiment.Program {
	var programs []experiment.Program
	for _, item := range c.Checks {
		if item.In == testbed.Host && len(item.Run) > 0 {
			programs = append(programs, experiment.Program{Name: item.Run[0], Where: experiment.OnMachine})
		}
	}
	return programs
}

func (c *config) rights(namespace string) []experiment.Right {
	var list []experiment.Right
	for _, item := range c.Checks {
		if item.Pods == nil && item.Container == "" {
			continue
		}
		in := namespace
		if item.Pods != nil {
			in = cmp.Or(item.Pods.Namespace, namespace)
		}
		const why = "the layer proof runs programs in containers"
		list = append(list, experiment.Right{Resource: "pods", Verbs: []string{"get", "list"}, Namespace: in, Why: why},
			experiment.Right{Resource: "pods/exec", Verbs: []string{"create", "get"}, Namespace: in, Why: why})
	}
	return list
}

func (c *config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Checks) == 0 {
		errs.Add("checks", "there is no check: the layer would show nothing")
	}
	names := map[string]bool{}
	for i, item := range c.Checks {
		at := fmt.Sprintf("checks[%d]", i)
		if names[item.Name] && item.Name != "" {
			errs.Add(at+".name", "%q is the name of two checks", item.Name)
		}
		names[item.Name] = true
		switch {
		case item.In == "" && item.Pods == nil:
			errs.Add(at, "the program has no place to run: set in, or pods")
		case item.In != "" && item.Pods != nil:
			errs.Add(at+".in", "in and pods exclude each other")
		case item.Container != "" && item.In != "" && item.In != testbed.ClientPod && item.In != testbed.ServerPod:
			errs.Add(at+".container", "%s has no containers", item.In)
		}
		if item.Pods != nil && len(item.Pods.Labels) == 0 {
			errs.Add(at+".pods.labels", "there is no label: every pod of the namespace would be selected")
		}
		placeholder.CheckCommand(&errs, at+".run", item.Run, placeholder.Context, placeholder.Namespace, placeholder.Server)
		errs = append(errs, item.patterns().Validate(at+".")...)
		switch {
		case item.Grows != "":
			errs = append(errs, item.validateGrows(at)...)
		case item.On == "":
			errs.Add(at+".on", "there is no pattern that shows that the mechanism is on: set on, or grows")
		}
	}
	return errs
}

// patterns returns the patterns for a check's output. The parameter grows, if set, is the pattern On: arms without the
// layer must not match it.
func (i Item) patterns() evidence.Patterns {
	return evidence.Patterns{On: cmp.Or(i.Grows, i.On), Off: i.Off}
}

// Up only prepares the checks.
func (c *config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	a := &active{config: c, once: map[string]layer.Check{}, counts: map[int][]reading{}}
	return &layer.Active{Before: a.before, After: a.after}, nil
}

// offChecks keeps checks that are made once at other arms' sites. Its keys are that arm's proof layer (or nil), and a
// name for the check and its pods.
type offChecks map[*config]map[string]layer.Check

// ProveOff makes the layer's checks at another arm's site, except for those that the other arm's own proof layer has.
func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	own, _ := s.Own.(*config)
	kept := layer.Kept[offChecks](s.Run, c)
	if *kept == nil {
		*kept = offChecks{}
	}
	if (*kept)[own] == nil {
		(*kept)[own] = map[string]layer.Check{}
	}
	return c.without(own).make(ctx, s.Site, evidence.Off, (*kept)[own], before, after, Once)
}

func (c *config) without(own *config) *config {
	if own == nil {
		return c
	}
	return &config{Checks: slices.DeleteFunc(slices.Clone(c.Checks), func(item Item) bool {
		return slices.ContainsFunc(own.Checks, func(other Item) bool { return reflect.DeepEqual(item, other) })
	})}
}
