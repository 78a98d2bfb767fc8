// Package workload is the protocol between the runner and a workload: something that
// runs once in a site and yields metrics. Each workload is one package below this
// one; package catalog lists them.
//
// A workload is a struct of parameters, which the experiment file gives, with three
// methods. Declare and Measures say what the file and the plan must know before
// anything runs. Prepare begins a trial. Nothing else is asked of a workload.
//
// # The sequence
//
// Once for the experiment file, in the order of experiment.Declaration: ReadFiles,
// Validate, then what else is declared. Factors are expanded after that, so that
// Measures and Prepare see every parameter at one level.
//
// For each trial, when the arm's layers are shown to be on:
//
//	Prepare      what belongs to the trial but is not measured
//	Measured     the measured part: CPU time, conditions and Result.Used cover it
//	             alone (and see experiment.Measures.Searches)
//	…            proofs, rules, and the record of the trial
//	Trial.Clear  what the trial has left in its site is taken away
//
// A Resident keeps something up at a site between its trials. A workload that is Sliceable has its trials cut into slices where the experiment asks for
// that.
//
// Prepare and Measured together have the time that experiment.Measures.Limit gives.
package workload

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"tare/experiment"
	"tare/testbed"
)

// Workload is a workload's parameters, all at one level, ready to run.
type Workload interface {
	experiment.WorkloadConfig
	// Prepare begins a trial with whatever belongs to it but is not measured (a
	// search for the rate to measure at, warm-up runs, files to lay out) and gives the
	// part that is. A trial that breaks one of the method's rules returns an *Invalid
	// error; any other error ends the run. Both hold for Measured, too.
	Prepare(ctx context.Context, t *Trial) (Measured, error)
}

// Trier is a workload that makes something on the testbed of which nothing is seen before
// a trial, such as pods from templates. Try makes as little of it as shows whether it works,
// and takes it away again; `tare doctor --try` asks for it at the site of each arm.
type Trier interface {
	Try(ctx context.Context, site testbed.Site) error
}

// Measured is the measured part of a trial.
type Measured func(ctx context.Context) (Result, error)

// Trial is what a workload is given for one trial.
type Trial struct {
	// Site is where to work: commands under test that are started on it go through
	// the wrappers of the arm's layers.
	Site testbed.Site
	// Raw takes the output of tools as they wrote it.
	Raw Raw
	// Standing is what stays up at the site, of a Resident; nil for any other workload.
	Standing Standing
	// Lateness is how late a load generator may be, as a multiple of what its workload allows (limits.late);
	// 0: once that.
	Lateness float64
	// Round is the round of the trial, from 1: whatever a workload draws at random is
	// best drawn anew in each round, and alike for all its arms.
	Round int
	// Seed is of what the trial draws for itself alone, such as where a search begins (experiment.Plan.TrialSeed).
	Seed uint64
	// Clear is set by Prepare, before anything else, if the trial leaves a load behind
	// in its site, such as objects that a cluster keeps. It takes that away after the
	// trial, valid or not, before another one starts in whichever arm. The trial is
	// recorded by then. An error has it tried again, all within the limit of a trial,
	// and ends the run at last.
	Clear func(ctx context.Context) error
}

// Late says whether a load generator that was late by lag was too late, where its workload allows so much.
func (t *Trial) Late(lag, allowed time.Duration) bool {
	return lag.Seconds() > cmp.Or(t.Lateness, 1)*allowed.Seconds()
}

// Raw takes the output of tools as they wrote it, into the trial's own directory.
type Raw interface {
	// Create opens a file to be kept, by a plain name ("iperf3-client.json").
	Create(name string) (io.WriteCloser, error)
}

// Discard is a Raw that keeps nothing, for probes.
var Discard Raw = discard{}

type discard struct{}

func (discard) Create(string) (io.WriteCloser, error) { return discard{}, nil }
func (discard) Write(p []byte) (int, error)           { return len(p), nil }
func (discard) Close() error                          { return nil }

// Result is what one trial measured.
type Result struct {
	Values map[string]float64 // by metric name, in the metric's unit
	// Used is what the programs under test consumed, by part: "client", "server".
	Used map[string]testbed.Usage
	// Resources are what was used of things that programs share, where the workload knows better than the runner, which
	// sees a trial as a whole; nil: it does not.
	Resources []testbed.Resource
	// Unavailable names metrics that the testbed cannot give in this trial, such as
	// those of a program whose Usage is Unavailable. That they are missing breaks no
	// rule.
	Unavailable []string
	// Work is the amount of work done, in the unit of experiment.Cost.
	Work float64
	// Sent is the payload moved between the pods in bytes; 0 if unknown.
	Sent uint64
	// Failed is the share of operations that failed, 0 to 1.
	Failed float64
	// Connections are those that the work went by, each kind once, of a workload whose connections a layer is about
	// (layer.Did).
	Connections []string
	// Behaviour is what the workload itself knows of what its programs and servers did; nil where that is nothing. The
	// runner adds exit statuses and stderr of programs whose stderr the workload reads.
	Behaviour Behaviour
}

// ReadFile reads the text file at a path, such as the certificates to trust; nothing where the path is "".
func ReadFile(read func(string) ([]byte, error), field, path string, into *string) (errs experiment.FieldErrors) {
	if path == "" {
		return nil
	}
	text, err := read(path)
	if err != nil {
		errs.Add(field, "%v", err)
	}
	*into = string(text)
	return errs
}

// Rules by which a trial is invalid. They are fixed before the run and never
// look at the value of a metric.
const (
	RuleExit        = "exit-status"  // a program failed
	RuleParse       = "parse"        // output that cannot be read
	RuleMetric      = "metric"       // a metric is missing, zero, negative or not finite
	RuleTimeout     = "timeout"      // the trial took too long
	RuleErrors      = "errors"       // failed operations over the limit
	RuleRate        = "rate"         // the requested rate was not reached
	RuleLate        = "late"         // the generator fell behind
	RuleProof       = "proof"        // a proof of treatment failed
	RuleForeignCPU  = "foreign-cpu"  // other programs used the CPU
	RuleSteal       = "steal"        // the hypervisor took the CPU
	RulePressure    = "cpu-pressure" // tasks waited for a CPU
	RuleThrottled   = "throttling"   // the clock or the cgroup was throttled
	RuleStopped     = "stopped"      // Tare or the machine stood still in between
	RuleLeftRunning = "left-running" // what a program started ran on after it had ended
	RuleServer      = "server"       // the server that the load goes to has ended
	RuleDirect      = "direct"       // I/O past the page cache was asked for, and went through it
	RuleLost        = "lost"         // the site broke: a pod, its node or the connection to it
)

// OfMachine says whether a rule is about the machine's condition, which may pass, and not
// about what the workload or a layer did. A load generator is late where it gets no CPU. Throttling by a limit on CPU time, such as that
// of a pod, does not pass.
func OfMachine(rule string, cpuLimited bool) bool {
	switch rule {
	case RuleForeignCPU, RuleSteal, RulePressure, RuleStopped, RuleLate:
		return true
	case RuleThrottled:
		return !cpuLimited
	}
	return false
}

// Blind says whether a rule of the machine's condition looks at nothing that the trial measured. That a
// generator is late may be told by its latency.
func Blind(rule string) bool { return rule != RuleLate }

// Repeated says whether a trial that broke a rule is tried again: where the machine's
// condition spoilt it, or the treatment was not shown. All other rules
// are about what the program did in its arm, which is a result of that arm and is counted.
func Repeated(rule string, cpuLimited bool) bool {
	return rule == RuleProof || OfMachine(rule, cpuLimited)
}

// Invalid is a trial that broke a rule.
type Invalid struct {
	Rule   string
	Detail string
}

func (e *Invalid) Error() string { return e.Rule + ": " + e.Detail }

// VolumeOwner is what to do where a program may not write to a volume of a cluster.
const VolumeOwner = "the volume's directory or device must belong to the user or group that the pod runs as: many drivers see to that by fsGroup, hostPath volumes do not"

// Invalidf is an *Invalid whose detail is formatted.
func Invalidf(rule, format string, args ...any) error {
	return &Invalid{Rule: rule, Detail: fmt.Sprintf(format, args...)}
}

// Kind describes a workload to `tare list` and `tare doctor`.
type Kind struct {
	Name    string
	Summary string // one line
	// Example are parameters in the form of a file that a workload needs to have, to begin with.
	Example string
	New     func() Workload
	// Probe tries whether the workload works on this machine.
	Probe func(ctx context.Context) []testbed.Finding
	// Helpers are the workload's own processes, if it has any (see testbed.HelperAt).
	Helpers []testbed.Helper
}
