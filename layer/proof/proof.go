// Package proof is a layer that changes nothing: it shows by programs that what
// other layers of its arm ask for is really on, and in the other arms off.
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
// That a manifest was applied does not show that anything acts on it. A program
// in the pod under test, in the sidecar beside it or in the agent on its node can:
// its standard output must match on in the arm, and off in the others, or have a
// number that grows during the trial. An output that merely lacks something shows that it is off only when the program ended
// well.
package proof

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"tare/experiment"
	"tare/experiment/reference"
	"tare/layer"
	"tare/layer/evidence"
	"tare/layer/placeholder"
	"tare/testbed"
)

const name = "proof"

// Config is the parameters of the layer.
type Config struct {
	Checks []Item `yaml:"checks" json:"checks" required:"true" doc:"programs whose output shows whether it is on"`
}

// Item is one program and what it must print.
type Item struct {
	Name      string              `yaml:"name" json:"name" required:"true" pattern:"^\\S(.{0,78}\\S)?$" form:"up to 80 characters on one line" doc:"what it shows"`
	In        testbed.Place       `yaml:"in" json:"in,omitempty" doc:"where the program runs, as a program of the workload would: host, client-pod, server-pod, client-node or server-node"`
	Pods      *Pods               `yaml:"pods" json:"pods,omitempty" doc:"other pods of the cluster in which it runs, in place of in"`
	Container string              `yaml:"container" json:"container,omitempty" doc:"container of the pod, such as a sidecar; the first one of pods, Tare's own of client-pod and server-pod if absent"`
	Run       reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments; its standard output is looked at"`
	On        string              `yaml:"on" json:"on,omitempty" doc:"regular expression that matches in the arm with the layer; ^ and $ match at each line"`
	Grows     string              `yaml:"grows" json:"grows,omitempty" doc:"in place of on: regular expression with one group, a number that grows during each trial; in the arms without the layer it must not match"`
	Off       string              `yaml:"off" json:"off,omitempty" doc:"regular expression that matches in the arms without it; if absent, on must not match, and the program must end well"`
	When      When                `yaml:"when" json:"when,omitempty" enum:"before,after,once" doc:"before each trial, after it, or once for the pods of an arm"`
}

// Pods selects pods of the cluster.
type Pods struct {
	Namespace string            `yaml:"namespace" json:"namespace,omitempty" doc:"namespace of the pods; the arm's if absent"`
	Labels    map[string]string `yaml:"labels" json:"labels" required:"true" doc:"labels of the pods"`
	Node      Node              `yaml:"node" json:"node,omitempty" enum:"client,server,both,any,all" doc:"which of them: those on the node of the client, of the server or of both, any one, or all; both if absent"`
}

// Node says which pods are meant by the nodes that they are on.
type Node string

// The choices.
const (
	Client Node = "client"
	Server Node = "server"
	Both   Node = "both"
	Any    Node = "any"
	All    Node = "all"
)

// When says when a check is made in the arm with the layer. In the others it is
// before each trial, or once.
type When string

// The moments.
const (
	Before When = "before"
	After  When = "after"
	Once   When = "once"
)

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "programs whose output shows that what other layers ask for is on",
	Example: "checks:\n  - {name: it is on, in: client-pod, run: [cat, /proc/version], on: gVisor, off: Linux}",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "any programs of this machine, of the pods under test, and of other pods of the cluster"),
}

// Declare says which places there must be, and what is run in them.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate, Needs: c.needs(), Programs: c.programs(), Rights: c.rights, ProvesBeside: true,
		Elsewhere: "pods and their containers are a cluster's: give the check a program of this machine, with in: client-pod or server-pod"}
}

// needs says which places there must be.
func (c *Config) needs() experiment.Needs {
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

// programs are those of the machine of Tare. The others are in pods, or where the
// workload's are.
func (c *Config) programs() []experiment.Program {
	var programs []experiment.Program
	for _, item := range c.Checks {
		if item.In == testbed.Host && len(item.Run) > 0 {
			programs = append(programs, experiment.Program{Name: item.Run[0], Where: experiment.OnMachine})
		}
	}
	return programs
}

// rights are those to find the pods and to run programs in their containers.
func (c *Config) rights(namespace string) []experiment.Right {
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

// validate checks the values.
func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if len(c.Checks) == 0 {
		errs.Add("checks", "no check is given: the layer would show nothing")
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
			errs.Add(at, "where does the program run? give in, or pods")
		case item.In != "" && item.Pods != nil:
			errs.Add(at+".in", "in and pods exclude each other")
		case item.Container != "" && item.In != "" && item.In != testbed.ClientPod && item.In != testbed.ServerPod:
			errs.Add(at+".container", "%s has no containers", item.In)
		}
		if item.Pods != nil && len(item.Pods.Labels) == 0 {
			errs.Add(at+".pods.labels", "no label is given: that would mean every pod of the namespace")
		}
		placeholder.CheckCommand(&errs, at+".run", item.Run, placeholder.Context, placeholder.Namespace, placeholder.Server)
		errs = append(errs, item.patterns().Validate(at+".")...)
		switch {
		case item.Grows != "":
			errs = append(errs, item.validateGrows(at)...)
		case item.On == "":
			errs.Add(at+".on", "what shows that it is on? give on, or grows")
		}
	}
	return errs
}

// patterns are what an output is held against. A number that grows in the arm is not
// to be seen in the others.
func (i Item) patterns() evidence.Patterns {
	return evidence.Patterns{On: cmp.Or(i.Grows, i.On), Off: i.Off}
}

// Up changes nothing.
func (c *Config) Up(context.Context, *layer.Session) (*layer.Active, error) {
	a := &active{config: c, once: map[string]layer.Check{}, counts: map[int][]reading{}}
	return &layer.Active{Before: a.before, After: a.after}, nil
}

// disproved is the evidence of checks that are made once in arms without the layer:
// by the arm's own layer of the kind, then by the check and the pods that it is of.
type disproved map[*Config]map[string]layer.Check

// ProveOff makes the checks at another arm's site, but for those that the arm's own
// layer makes.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	own, _ := s.Own.(*Config)
	kept := layer.Kept[disproved](s.Run, c)
	if *kept == nil {
		*kept = disproved{}
	}
	if (*kept)[own] == nil {
		(*kept)[own] = map[string]layer.Check{}
	}
	return c.without(own).make(ctx, s.Site, evidence.Off, (*kept)[own], Before, After, Once)
}

// without leaves out the checks that another layer has too.
func (c *Config) without(own *Config) *Config {
	if own == nil {
		return c
	}
	return &Config{Checks: slices.DeleteFunc(slices.Clone(c.Checks), func(item Item) bool {
		return slices.ContainsFunc(own.Checks, func(other Item) bool { return reflect.DeepEqual(item, other) })
	})}
}
