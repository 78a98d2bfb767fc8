package startup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/layer/program"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/pods"
	"tare/internal/workload"
	"tare/internal/workload/startup/firstbyte"
)

// role is the value of a Kubernetes label on started pods.
const role = "start"

// inPod is the path of package firstbyte's program in a pod. The file is on the volume of Tare's agent, so that
// pods may use any image.
const inPod = "/var/run/tare/first-byte"

type podStarter struct {
	config   *Config
	site     testbed.Site
	like     *kube.PodTemplate
	listener *helperrpc.Helper
	address  string
	program  testbed.Command // program with its wrappers
	stem     string          // beginning of the pods' names
	stop     context.CancelFunc

	number  int // number of pods so far
	staying []*progress

	mu    sync.Mutex
	waits map[string]*progress // by pod name: which phases, such as ready, the pod has reached
}

func (c *Config) podStarter(ctx context.Context, site testbed.Site) (s *podStarter, err error) {
	on, err := kube.Of(site)
	if err != nil {
		return nil, err
	}
	s = &podStarter{config: c, site: site, waits: map[string]*progress{}, stem: "start-" + strings.ToLower(rand.Text()[:6])}
	if s.program, err = c.inPods(site); err != nil {
		return nil, err
	}
	if s.like, err = on.PodTemplate(ctx, role); err != nil {
		return nil, err
	}
	addresses := on.PodAddresses(testbed.ClientPod)
	if len(addresses) == 0 {
		return nil, fmt.Errorf("the arm's pod has no address that started pods can call")
	}
	if s.listener, err = helperrpc.Start(ctx, site, testbed.ClientPod, firstbyte.Listener.Name); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // the watch runs until end
	s.stop = stop
	var a firstbyte.Response
	err = s.listener.Ask(ctx, firstbyte.Request{}, &a)
	s.address = netip.AddrPortFrom(addresses[0], uint16(a.Port)).String()
	if err == nil {
		err = s.like.Watch(watching, s.see)
	}
	if err != nil {
		return nil, errors.Join(err, s.end(ctx))
	}
	return s, nil
}

// inPods returns the command that starts the program in a pod. A command with secrets is refused, since everybody who
// may read pods sees it.
func (c *Config) inPods(site testbed.Site) (testbed.Command, error) {
	command := program.At(site, c.Command)
	if wanted := command.References(); len(wanted) > 0 {
		return testbed.Command{}, fmt.Errorf("%s: the arguments of a program would be in the specification of pods, where everybody who may read pods sees them", wanted[0])
	}
	args, err := command.Resolve(context.Background(), nil)
	if err != nil {
		return testbed.Command{}, err
	}
	subject := testbed.Command{Args: args, Subject: true}
	if len(args) == 0 {
		subject.Args = []string{inPod, "stay"}
	}
	if w, ok := testbed.As[testbed.Wrapper](site); ok {
		return w.Wrapped(testbed.ClientPod, subject)
	}
	return subject, nil
}

type progress struct {
	name   string
	begun  time.Time
	phases map[string]float64 // for each phase: time from begun until the pod reached the phase, in s
	uid    string
	failed string        // reason why the pod will never be ready, if known
	change chan struct{} // closed when one of the fields above changes, and then replaced by a new channel
	gone   bool
}

// see handles an event of the watch.
func (s *podStarter) see(pod *corev1.Pod, gone bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.waits[pod.Name]; p != nil {
		p.see(pod, gone, now)
	}
}

// see updates the pod's state by an event. For each phase, it records the time at which the pod first reached it.
func (p *progress) see(pod *corev1.Pod, gone bool, now time.Time) {
	reach := func(phase string, is bool) {
		if _, known := p.phases[phase]; is && !known {
			p.phases[phase] = now.Sub(p.begun).Seconds()
		}
	}
	p.gone = gone
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		p.failed = ended(pod)
	}
	for _, c := range pod.Status.Conditions {
		reach("pod-scheduled", c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue)
		reach("pod-ready", c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue)
	}
	for _, c := range pod.Status.ContainerStatuses {
		reach("pod-started", c.Name == pods.Container && c.State.Running != nil)
	}
	close(p.change)
	p.change = make(chan struct{})
}

func ended(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && c.Name == pods.Container {
			return strings.TrimSpace(fmt.Sprintf("it ended with exit status %d %s", t.ExitCode, t.Message))
		}
	}
	return strings.TrimSpace(fmt.Sprintf("the pod is %s %s %s", pod.Status.Phase, pod.Status.Reason, pod.Status.Message))
}

// begin makes a pod. When the program prints its first byte, the pod calls the listener. begin waits for this call,
// and then until the pod is ready.
func (s *podStarter) begin(ctx context.Context) (p *progress, one start, err error) {
	s.number++
	title := fmt.Sprintf("%s-%d", s.stem, s.number)
	plan, err := s.like.Plan(title, func(self string) (args, env []string) {
		return firstbyte.CallerCommand(self, s.address, title, inPod, s.program)
	})
	if err != nil {
		return nil, one, err
	}
	p = &progress{name: plan.Name, phases: map[string]float64{}, change: make(chan struct{})}
	s.mu.Lock()
	s.waits[p.name] = p
	p.begun = time.Now()
	s.mu.Unlock()
	made, err := s.like.Make(ctx, plan)
	s.mu.Lock()
	p.phases["pod-created"] = time.Since(p.begun).Seconds()
	for _, later := range p.phases { // the watch may report a later phase before the API server confirms the creation
		p.phases["pod-created"] = min(p.phases["pod-created"], later)
	}
	s.mu.Unlock()
	if err != nil {
		return p, one, err
	}
	p.uid = string(made.UID)
	limited, cancel := context.WithTimeout(ctx, s.config.Timeout.Std())
	defer cancel()
	answered, err := s.answered(limited, p, title)
	if err == nil {
		err = s.ready(limited, p)
	}
	if err != nil {
		return p, one, s.failure(ctx, p, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one = start{First: answered.Sub(p.begun).Seconds(), Phases: p.phases}
	return p, one, nil
}

// longestWait is how long one request to the listener waits for a pod's call. If the call comes later, another request
// must wait for it.
const longestWait = 5 * time.Second

func (s *podStarter) answered(ctx context.Context, p *progress, title string) (at time.Time, err error) {
	for ctx.Err() == nil {
		if why := s.failed(p); why != "" {
			return at, errors.New(why)
		}
		var a firstbyte.Response
		if err := s.listener.Ask(ctx, firstbyte.Request{Wait: title, For: longestWait}, &a); err != nil {
			return at, err
		}
		if a.Called {
			return time.Now().Add(-a.Ago), nil
		}
	}
	return at, ctx.Err()
}

func (s *podStarter) ready(ctx context.Context, p *progress) error {
	for {
		s.mu.Lock()
		_, is := p.phases["pod-ready"]
		why, change := p.failed, p.change
		s.mu.Unlock()
		switch {
		case is:
			return nil
		case why != "":
			return errors.New(why)
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *podStarter) failed(p *progress) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gone {
		return "it was deleted while it was waited for"
	}
	return p.failed
}

// failure returns an error for a pod that did not start. If the start took too long, the error contains the
// cluster's events and logs of the pod.
func (s *podStarter) failure(ctx context.Context, p *progress, err error) error {
	_, lost := errors.AsType[*testbed.Disturbance](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case lost:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it has not printed its first byte, or is not ready, after %v, which is the limit of a start", s.config.Timeout)
		return workload.Invalidf(workload.RuleTimeout, "pod %s: %v", p.name, s.like.Why(ctx, p.name, err))
	}
	return workload.Invalidf(workload.RuleExit, "pod %s: %v", p.name, err)
}

// once starts a pod, and deletes it.
func (s *podStarter) once(ctx context.Context) (start, error) {
	p, one, err := s.begin(ctx)
	if p == nil {
		return one, err
	}
	if err == nil {
		one.used, err = s.used(ctx, p)
	}
	if err != nil && ctx.Err() == nil {
		s.staying = append(s.staying, p) // a pod that failed stays until the trial's end, which deletes it
		return one, err
	}
	return one, errors.Join(err, s.like.Delete(ctx, p.name))
}

// used returns the resources that a started pod has used so far, if the pod's node counts resources.
func (s *podStarter) used(ctx context.Context, p *progress) (testbed.Usage, error) {
	wall := time.Since(p.begun)
	used, known, err := s.like.Used(ctx, []string{p.uid})
	one, there := used[p.uid]
	if err != nil || !known || !there {
		return testbed.Usage{Wall: wall, Unavailable: true}, err
	}
	return testbed.Usage{User: one.CPU - one.System, System: one.System, Wall: wall, MaxRSS: one.WorkingSet}, nil
}

func (s *podStarter) stay(ctx context.Context, n int) error {
	for range n {
		p, _, err := s.begin(ctx)
		if p != nil {
			s.staying = append(s.staying, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *podStarter) uses(ctx context.Context) (sum use, err error) {
	var uids []string
	for _, p := range s.staying {
		if why := s.failed(p); why != "" {
			return use{}, workload.Invalidf(workload.RuleExit, "pod %s: %s", p.name, why)
		}
		uids = append(uids, p.uid)
	}
	used, known, err := s.like.Used(ctx, uids)
	if err != nil || !known {
		return use{Unknown: !known}, err
	}
	for _, uid := range uids {
		one, there := used[uid]
		if !there {
			return use{}, fmt.Errorf("the node shows no cgroup of the pod %s", uid)
		}
		sum.Memory += one.WorkingSet
		sum.CPU += one.CPU
	}
	return sum, nil
}

func (s *podStarter) end(ctx context.Context) (err error) {
	names := lists.Map(s.staying, func(p *progress) string { return p.name })
	if len(names) > 0 {
		err = s.like.Delete(ctx, names...)
	}
	if err == nil {
		s.staying = nil
	}
	s.stop()
	if s.listener != nil {
		err = errors.Join(err, s.listener.Close(ctx))
		s.listener = nil
	}
	return err
}
