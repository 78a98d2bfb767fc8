// Package workload is the interface between the runner and workloads. A workload runs once per trial, in a site, and
// yields metrics. Each workload is a package below this package. Package catalog lists all workloads.
//
// A workload is a struct of parameters from the experiment file, with three methods. Declare and Measures describe the
// workload before anything runs: what it needs, and what it measures. Prepare begins a trial.
//
// # The sequence
//
// When the runner reads an experiment file, it calls the functions of experiment.Declaration in their order. Then
// factors are expanded: Measures and Prepare see each parameter at one level.
//
// For each trial, after the proofs that the arm's layers are in force:
//
//	Prepare      the unmeasured preparation of the trial
//	Measured     the measured part, which CPU time, conditions and Result.Used cover
//	             (see also experiment.Measures.Searches)
//	…            proofs, rules, and the record of the trial
//	Trial.Clear  removes what the trial left at its site
//
// A Resident keeps something up at a site between its trials, such as a server. A Sliceable can cut its trials into
// slices.
//
// Prepare and Measured together must end within experiment.Measures.Limit.
package workload

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
)

// Workload holds a workload's parameters, all at one level, ready to run.
type Workload interface {
	experiment.WorkloadConfig
	// Prepare begins a trial: it does the unmeasured work, such as warm-up runs, and returns the measured part. An
	// *Invalid error of either says that the trial broke a rule. Any other error ends the run.
	Prepare(ctx context.Context, t *Trial) (Measured, error)
}

// Trier is a workload whose trials make objects, such as pods from templates. Try makes just enough objects to show
// that the trials work, and removes the objects. `tare doctor --try` calls it at each arm's site.
type Trier interface {
	Try(ctx context.Context, site testbed.Site) error
}

// Measured is the measured part of a trial.
type Measured func(ctx context.Context) (Result, error)

// Trial is the input of one trial.
type Trial struct {
	// Site is the arm's site. It starts programs under test through the wrappers of the arm's layers.
	Site testbed.Site
	// Raw takes raw files, such as the output of tools.
	Raw Raw
	// Standing is the Server that a workload of type Resident keeps up at the site. It is nil for other workloads.
	Standing Server
	// Lateness is the factor by which a load generator may exceed the allowed lateness (limits.late); 0 means 1.
	Lateness float64
	// Round is the trial's round, from 1. A workload uses it in the seed of random draws: these are equal in all arms
	// of a round, but differ between rounds.
	Round int
	// Seed is a seed that no other trial has. It is for draws that must differ between trials, such as the start of a
	// search (experiment.Plan.TrialSeed).
	Seed uint64
	// Clear removes what the trial leaves at its site. Prepare sets it before it does anything else. The runner calls
	// Clear after every trial, before the next trial in any arm. If all calls within the trial's limit fail, the run
	// ends.
	Clear func(ctx context.Context) error
}

// Late reports whether a load generator was too late: its lag exceeds the allowed lag times Lateness. A Lateness of 0
// counts as 1.
func (t *Trial) Late(lag, allowed time.Duration) bool {
	return lag.Seconds() > cmp.Or(t.Lateness, 1)*allowed.Seconds()
}

// Raw takes the raw files of a trial.
type Raw interface {
	// Create creates a raw file. The name has no directory, such as "iperf3-client.json".
	Create(name string) (io.WriteCloser, error)
}

// Discard is a Raw for probes. It keeps no files.
var Discard Raw = discard{}

type discard struct{}

func (discard) Create(string) (io.WriteCloser, error) { return discard{}, nil }
func (discard) Write(p []byte) (int, error)           { return len(p), nil }
func (discard) Close() error                          { return nil }

// Result is the result of one trial.
type Result struct {
	Values map[string]float64 // values by metric name, in the metric's unit
	// Used is the usage of the programs under test, by part of the workload: "client", "server".
	Used map[string]testbed.Usage
	// Resources is the use of resources that programs share. A workload sets Resources if the workload measures better
	// than the runner, which reads the use only at the beginning and end of the trial.
	Resources []testbed.Resource
	// Unavailable names metrics that the testbed cannot measure in this trial, such as CPU time if a Usage is
	// unavailable. Their lack breaks no rule.
	Unavailable []string
	// Work is the amount of work done, in the unit of experiment.Cost.
	Work float64
	// Sent is the payload, in bytes, that moved between the pods; 0: unknown.
	Sent uint64
	// Failed is the share of the trial's operations that failed, 0 to 1.
	Failed float64
	// Connections lists the kinds of connections that the trial used. A workload sets it for layers that change
	// connections (layer.Did).
	Connections []string
	// Behaviour lists exit statuses, answers and files as far as the workload observed them; nil: none. The runner adds
	// stderr and exit status of a program whose stderr the workload reads.
	Behaviour Behaviour
}

// Rules that make a trial invalid. They are fixed before the run. No rule is about a large or small value of a
// metric.
const (
	RuleExit        = "exit-status"  // a program failed
	RuleParse       = "parse"        // output cannot be read
	RuleMetric      = "metric"       // a metric is missing, zero, negative or not finite
	RuleTimeout     = "timeout"      // the trial took too long
	RuleErrors      = "errors"       // the share of failed operations exceeds its limit
	RuleRate        = "rate"         // the requested rate was not reached
	RuleLate        = "late"         // the generator fell behind
	RuleProof       = "proof"        // a proof failed: the layers were off, or nothing showed that they were on
	RuleForeignCPU  = "foreign-cpu"  // other programs used the CPU
	RuleSteal       = "steal"        // the hypervisor gave the CPU to other virtual machines
	RulePressure    = "cpu-pressure" // tasks waited for a CPU
	RuleThrottled   = "throttling"   // the CPU's clock or the cgroup's CPU time was throttled
	RuleStopped     = "stopped"      // Tare or the machine was suspended during the trial
	RuleLeftRunning = "left-running" // processes of a program ran on after its end
	RuleServer      = "server"       // the server that the load goes to has ended
	RuleDirect      = "direct"       // I/O went through the page cache, although direct I/O was asked for
	RuleLost        = "lost"         // the site broke: a pod, its node or the connection to it
)

// OfMachine reports whether a rule is about the machine's condition, which may improve. If a limit on CPU time
// throttled the trial (cpuLimited), RuleThrottled is not, since the limit stays.
func OfMachine(rule string, cpuLimited bool) bool {
	switch rule {
	case RuleForeignCPU, RuleSteal, RulePressure, RuleStopped, RuleLate:
		return true
	case RuleThrottled:
		return !cpuLimited
	}
	return false
}

// IndependentOfValues reports whether a rule about the machine's condition is independent of the measured values. A
// generator's lateness may depend on the latency.
func IndependentOfValues(rule string) bool { return rule != RuleLate }

// Repeated reports whether a trial that broke a rule is tried again. Otherwise the broken rule counts as a result of
// the trial's arm.
func Repeated(rule string, cpuLimited bool) bool {
	return rule == RuleProof || OfMachine(rule, cpuLimited)
}

// Invalid is the error of a trial that broke a rule.
type Invalid struct {
	Rule   string
	Detail string
}

func (e *Invalid) Error() string { return e.Rule + ": " + e.Detail }

// VolumeOwner is the hint for a program that may not write to a volume of a cluster.
const VolumeOwner = "the volume's directory or device must belong to the user or group that the pod runs as: many drivers see to that by fsGroup, hostPath volumes do not"

// Invalidf returns an *Invalid error with a formatted detail.
func Invalidf(rule, format string, args ...any) error {
	return &Invalid{Rule: rule, Detail: fmt.Sprintf(format, args...)}
}

// Kind describes a workload to `tare list` and `tare doctor`.
type Kind struct {
	Name    string
	Summary string // description of the workload in one line
	// Example holds example values for the parameters that a file must give.
	Example string
	New     func() Workload
	// Probe tries whether the workload works on this machine.
	Probe func(ctx context.Context) []testbed.Finding
	// Helpers are the workload's helpers, if it has any (see testbed.HelperAt).
	Helpers []testbed.Helper
}

// CheckTime adds an error for the field unless least ≤ d ≤ most.
func CheckTime(errs *experiment.FieldErrors, field string, d quantity.Duration, least, most time.Duration) {
	if d.Std() < least || d.Std() > most {
		errs.Add(field, "%v is not a time from %v to %v", d, quantity.Duration(least), quantity.Duration(most))
	}
}

// CheckNumbers adds an error for each level below 1 or above most. The error names the levels by the noun things, such
// as "sidecars".
func CheckNumbers(errs *experiment.FieldErrors, field string, levels []int, most int, things string) {
	for i, n := range levels {
		if n < 1 || n > most {
			errs.Add(fmt.Sprintf("%s[%d]", field, i), "%d is not a number of %s from 1 to %d", n, things, most)
		}
	}
}

// ReadFile reads a text file, such as the certificates to trust, into a string. The path "" leaves the string
// unchanged.
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

// Resident is a workload that keeps something up at the site of an arm between trials, such as the server that
// its load goes to.
//
//	SetUp         when the site is ready and the arm's layers are up
//	Server.Check  before each trial of a cell that shares the Server
//	…             the trials, which get the Server as Trial.Standing
//	Server.Down   before the layers are taken down
//
// The Server should use next to no CPU while no trial uses it, since trials of other arms run then.
type Resident interface {
	Workload
	// Shared returns the name of the Server. Cells with the same name share one Server. "": the workload needs none.
	Shared() string
	// SetUp starts the Server. If SetUp fails, it leaves nothing behind.
	SetUp(ctx context.Context, s SetUp) (Server, error)
}

// SetUp is the input of Resident.SetUp.
type SetUp struct {
	// Site is the arm's site. It starts programs under test through the wrappers of the arm's layers.
	Site testbed.Site
	// Number is the Server's number among the Servers at the site, from 0. It serves to choose ports that no other
	// Server has.
	Number int
}

// Server is something that a Resident keeps up at one site, such as a server.
type Server interface {
	// Check returns an error if the Server is broken. The arm is then set up again. Check must be fast, since it
	// runs before each trial.
	Check(ctx context.Context) error
	// Down ends the Server. A second call does nothing.
	Down(ctx context.Context) error
}

// Running is a Server with processes of its own. The CPU time that they use during a trial does not count as use by
// foreign programs.
type Running interface {
	// CPU returns the CPU time that the processes have used so far.
	CPU() (time.Duration, error)
}

// Sliceable is a workload whose trials can be cut into slices. Between the slices, trials of other arms run. The
// workload declares its slices by experiment.Measures.Slice.
//
//	PrepareSlices  the unmeasured preparation of the trial
//	Sliced.Run     one slice; a pause follows, in which the other arms run their slices
//	…
//	Sliced.Finish  the result of all slices
//
// A slice may be a process of its own, or a period in which a running load generator sends requests. Between slices the
// workload's processes must use no CPU, or they would slow the other arms.
type Sliceable interface {
	Workload
	// PrepareSlices takes the place of Prepare for a trial of n slices. The context, and processes that were started
	// with it, end with the trial.
	PrepareSlices(ctx context.Context, t *Trial, n int) (Sliced, error)
}

// Sliced is a trial that is cut into slices. An error of a method ends the trial, without calls of other methods. It
// counts like an error of Measured.
type Sliced interface {
	// Run runs slice i, from 0. The trial's CPU time, conditions and wall-clock time are measured only during the calls
	// of Run.
	Run(ctx context.Context, i int) error
	// Finish ends the processes that ran between slices, and returns the result of all slices together.
	Finish(ctx context.Context) (Result, error)
}

// Uncut implements Prepare for a workload that can be cut (Sliceable). It runs the trial as one slice.
func Uncut(ctx context.Context, w Sliceable, t *Trial) (Measured, error) {
	s, err := w.PrepareSlices(ctx, t, 1)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Result, error) {
		if err := s.Run(ctx, 0); err != nil {
			return Result{}, err
		}
		return s.Finish(ctx)
	}, nil
}
