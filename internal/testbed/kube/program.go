package kube

import (
	"context"
	"errors"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/accounting"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// Start starts a program in the pod at a place, or on this machine at testbed.Host. For an unreachable pod, the error
// is a *testbed.Disturbance.
func (s *Site) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where == testbed.Host {
		return s.bed.onHost(ctx, cmd)
	}
	where, container := containerAt(where)
	p, err := s.pod(where)
	if err != nil {
		return nil, err
	}
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	tally, err := on.counter.Tally(ctx, s.accountingSite(on), p, cmd)
	if err != nil {
		return nil, err
	}
	sandbox := ""
	if cmd.Subject {
		if sandbox, err = p.Sandbox(ctx); err != nil {
			tally.Abandon()
			return nil, err
		}
	}
	process, err := p.AgentIn(container).Start(ctx, cmd)
	if err != nil {
		tally.Abandon()
		return nil, p.Disturbed(ctx, err)
	}
	started := &program{Process: process, pod: p, sandboxed: sandbox != "", done: make(chan struct{})}
	go started.follow(tally)
	return started, nil
}

// Self returns the path of the agent in the pod at a place; "" for testbed.Host.
func (s *Site) Self(where testbed.Place) string {
	if where == testbed.Host {
		return ""
	}
	where, container := containerAt(where)
	p, err := s.pod(where)
	if err != nil {
		return pods.Program // the site's pods have not been made yet
	}
	return pods.ProgramIn(p.Plan(), container)
}

// program is a process in a pod. If the pod is lost, the process's errors name the reason.
type program struct {
	testbed.Process
	pod       *pods.Pod
	sandboxed bool // set if the program runs in a sandbox, whose kernel omits the usage of the sandbox itself

	done  chan struct{} // closed when usage and err are set
	usage testbed.Usage
	err   error
}

// follow waits for the program's end and then finishes the tally of its CPU time and memory, even if nobody calls Wait.
func (p *program) follow(t *accounting.Tally) {
	defer close(p.done)
	p.usage, p.err = p.Process.Wait()
	var exit *testbed.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Abandon()
		p.err = p.pod.Disturbed(context.Background(), p.err)
		return
	}
	usage, err := t.Finish(p.usage)
	p.usage, p.err = usage, errors.Join(p.err, err)
}

func (p *program) Wait() (testbed.Usage, error) {
	<-p.done
	return p.usage, p.err
}

func (p *program) CPU() (time.Duration, error) { return counted(p, p.Process.CPU) }

func (p *program) Memory() (int64, error) { return counted(p, p.Process.Memory) }

func counted[T any](p *program, read func() (T, error)) (value T, err error) {
	if p.sandboxed {
		return value, testbed.ErrUncounted
	}
	value, err = read()
	return value, p.pod.Disturbed(context.Background(), err)
}

func (p *program) Printed(stream string, from int64) (piece []byte, err error) {
	printer, ok := p.Process.(testbed.Printer)
	if !ok {
		return nil, nil
	}
	piece, err = printer.Printed(stream, from)
	return piece, p.pod.Disturbed(context.Background(), err)
}

// Mend pings every agent of the site over its open connection, and mends lost pods (pods.Mend).
func (s *Site) Mend(ctx context.Context) error {
	on, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	if err := on.record.Present(); err != nil {
		return err
	}
	return pods.Mend(ctx, s.podList())
}

// sampler reads the counters of all agents before and after a trial. It is the runner's Sampler.
type sampler struct {
	bed    *Testbed
	sample *accounting.Sample // sample that Start has begun; nil if none has begun
}

func (t *Testbed) Sampler() *sampler { return &sampler{bed: t} }

func (s *sampler) Start(ctx context.Context, site testbed.Site) error {
	s.sample = nil
	kube, err := Of(site)
	if err != nil {
		return err
	}
	on, err := kube.cluster(ctx)
	if err != nil {
		return err
	}
	s.sample, err = on.counter.Begin(ctx, kube.accountingSite(on))
	return err
}

// Stop ends the sample. A sample of a cluster leaves out the load of the machine on which Tare runs.
func (s *sampler) Stop(ctx context.Context, _ time.Duration) (testbed.Sample, error) {
	sample := s.sample
	if sample == nil {
		return testbed.Sample{}, errors.New("sample of a cluster: Stop without a Start")
	}
	s.sample = nil
	s.bed.mu.Lock()
	missing := s.bed.missing
	s.bed.mu.Unlock()
	return sample.End(ctx, missing)
}

// Meter reads the use of processors and networks, as the agents in the pods see them. The capacity of the networks is
// unknown.
func (s *Site) Meter(ctx context.Context) (list []testbed.Resource, err error) {
	all, sides := s.podList(), map[string]string{} // sides maps a machine's boot id to the resource name of its processors
	counted := make([]agent.Counters, len(all))
	err = cluster.Each(all, func(i int, p *pods.Pod) (err error) {
		counted[i], err = p.Agent().Counters(ctx, agent.CountersRequest{})
		return err
	})
	for i, p := range all {
		side := testbed.ResourceServer
		if strings.HasPrefix(p.Plan().Labels[inventory.RoleLabel], roleClient) {
			side = testbed.ResourceClient
		}
		if on := sides[counted[i].BootID]; on != "" && on != side {
			side = testbed.ResourceMachine
		}
		sides[counted[i].BootID] = side
	}
	for _, c := range counted {
		list = append(list, testbed.Resource{Name: sides[c.BootID], Of: float64(c.CPUs), Used: c.Busy.Seconds()}, c.Network)
	}
	return list, err
}
