package churn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/workload"
)

// role is the value of inventory.RoleLabel on the objects of this workload.
const role = "churn"

// target is the namespace for a trial's objects, with the connections to the cluster's API server.
type target struct {
	config    *Config
	api       *api // connection for requests and lists
	watching  *api // second connection, for the watch: its events do not wait behind responses
	namespace string
	stem      string // beginning of the objects' names
	own       ownership
	selector  string // label selector of the objects
	sources   []*source
}

// Prepare deletes leftovers, makes the objects that must exist before the measurement, and starts the watches.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	s, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return s.finish(ctx, t) }, nil
}

// begin deletes leftovers, makes the objects that must exist before the measurement, and starts the watches. The
// caller must end the trial by finish.
func (c *Config) begin(ctx context.Context, t *workload.Trial) (s *runningTrial, err error) {
	on, err := kube.Of(t.Site)
	if err != nil {
		return nil, err
	}
	t.Clear = func(ctx context.Context) error {
		p, err := c.targetAt(ctx, on)
		if err != nil {
			return err
		}
		defer p.close()
		return p.clean(ctx, c.paceLimit()) // waits for the end of the deletion, which would be load in the next trial
	}
	p, err := c.targetAt(ctx, on)
	if err != nil {
		return nil, err
	}
	if err = on.Record(ctx, p.resources()...); err == nil {
		s, err = p.prepare(ctx, t.Raw)
	}
	if err != nil {
		p.close()
	}
	return s, err
}

func (c *Config) targetAt(ctx context.Context, on *kube.Site) (*target, error) {
	cluster, err := on.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	owners, err := on.Owners(ctx)
	if err != nil {
		return nil, err
	}
	return c.newTarget(ctx, cluster, on.Namespace(), ownership{on.Labels(), owners})
}

// newTarget connects to the cluster, compiles the templates and finds their resources.
func (c *Config) newTarget(ctx context.Context, cluster *cluster.Cluster, namespace string, own ownership) (*target, error) {
	own.labels = maps.Clone(own.labels)
	own.labels[inventory.RoleLabel] = role
	p := &target{config: c, namespace: namespace, stem: newStem(), own: own, selector: labels.Set(own.labels).String()}
	var err error
	if p.api, err = connect(cluster.Config); err != nil {
		return nil, err
	}
	if p.watching, err = connect(cluster.Config); err != nil {
		return nil, err
	}
	for i, t := range c.Templates {
		s, err := t.compile()
		if err == nil {
			s.resource, err = p.find(ctx, s.kind)
		}
		if err != nil {
			p.close()
			return nil, fmt.Errorf("templates[%d]: %w", i, err)
		}
		p.sources = append(p.sources, s)
	}
	return p, nil
}

// newStem returns a random beginning for the names of a trial's objects. With equal names, a controller that still
// deletes an earlier trial's pods by name could delete this trial's.
func newStem() string { return fmt.Sprintf("churn-%06x", rand.N(1<<24)) }

// find asks the cluster which resource belongs to a kind. It waits at most requestTimeout.
func (p *target) find(ctx context.Context, k kind) (schema.GroupVersionResource, error) {
	limited, cancel := context.WithTimeout(ctx, p.config.Request.Std())
	defer cancel()
	r, err := p.api.resource(limited, k)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil && limited.Err() != nil:
		return r, fmt.Errorf("the API server did not give the resource of %s within %v (requestTimeout): %w", k, p.config.Request, err)
	}
	return r, err
}

// resources lists the resources of the templates, each once.
func (p *target) resources() (list []schema.GroupVersionResource) {
	for _, s := range p.sources {
		if !slices.Contains(list, s.resource) {
			list = append(list, s.resource)
		}
	}
	return list
}

func (p *target) path(r schema.GroupVersionResource) string {
	return root(r.Group, r.Version) + "/namespaces/" + p.namespace + "/" + r.Resource
}

// query returns the URL path and query string that select the trial's objects. Beside the selector, the query string
// contains the parameters.
func (p *target) query(r schema.GroupVersionResource, parameters url.Values) string {
	parameters.Set("labelSelector", p.selector)
	return p.path(r) + "?" + parameters.Encode()
}

func (p *target) close() {
	p.api.close()
	p.watching.close()
}

// runningTrial is a trial from the beginning of Prepare to the end of the trial.
type runningTrial struct {
	*target
	schedule *schedule
	tracker  *tracker
	stop     context.CancelFunc // ends the watches
}

func (p *target) prepare(ctx context.Context, raw workload.Raw) (*runningTrial, error) {
	all, err := p.schedule()
	if err != nil {
		return nil, err
	}
	if err := p.keepExamples(raw, all); err != nil {
		return nil, err
	}
	if err := p.clean(ctx, p.config.paceLimit()); err != nil {
		return nil, broken(ctx, workload.RuleTimeout, "what an earlier trial made: %v", err)
	}
	if testbed.Pause(ctx, p.config.Settle.Std()) != nil { // the pause keeps the load of deleting old objects out of this trial
		return nil, ctx.Err()
	}
	s := &runningTrial{target: p, schedule: all, tracker: p.newTracker(all.base, all.measured)}
	watching, stop := context.WithCancel(ctx)
	s.stop = stop
	if err = s.tracker.run(watching); err != nil {
		err = broken(ctx, workload.RuleErrors, "%v", err)
	} else {
		err = s.makeBase(ctx)
	}
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *runningTrial) end() {
	s.stop()
	s.tracker.running.Wait()
}

// makeBase makes the objects that must exist before the measurement. It waits until all are ready, and lets the cluster
// settle.
func (s *runningTrial) makeBase(ctx context.Context) error {
	base := s.schedule.base
	if len(base) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.config.paceLimit())
	defer cancel()
	start := time.Now()
	s.tracker.phase(start, base)
	err := s.sendAll(limited, start, base)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	for _, o := range base {
		if o.failure != "" {
			return workload.Invalidf(workload.RuleErrors, "%s could not be made before the measurement: %s", o.name, o.failure)
		}
	}
	if err != nil {
		return workload.Invalidf(workload.RuleTimeout, "%d objects were not made before the measurement within %v", len(base), s.config.paceLimit())
	}
	if err := s.tracker.wait(ctx, 2*s.config.Ready.Std()); err != nil {
		return err
	}
	unready := 0
	for _, o := range base {
		if o.unready() {
			unready++
		}
	}
	if unready > 0 {
		return workload.Invalidf(workload.RuleTimeout, "%d of %d objects made before the measurement were not ready after %v", unready, len(base), 2*s.config.Ready.Std())
	}
	if err := s.tracker.checkUndated(); err != nil {
		return err
	}
	return testbed.Pause(ctx, s.config.Settle.Std())
}

// finish runs the measured part: it sends the requests, waits until the objects are ready, and computes the result.
func (s *runningTrial) finish(ctx context.Context, t *workload.Trial) (workload.Result, error) {
	defer s.close()
	defer s.end()
	c := s.config
	start := time.Now()
	s.tracker.phase(start, s.schedule.measured)
	err := s.sendAll(ctx, start, s.schedule.measured)
	if err == nil {
		err = s.tracker.wait(ctx, c.Ready.Std())
	}
	if err == nil {
		err = testbed.Pause(ctx, c.Settle.Std())
	}
	if err != nil {
		return workload.Result{}, err
	}
	s.end() // the watches must end before the outcome is read
	out := summarize(s.schedule.measured, float64(c.Rate.One()), start)
	out.unseen, out.breaks = s.tracker.unseen()
	if err := out.write(t.Raw); err != nil {
		return workload.Result{}, err
	}
	if err := c.judge(t, out); err != nil {
		return workload.Result{}, err
	}
	return workload.Result{Values: out.values(), Work: float64(out.succeeded), Failed: out.failed()}, nil
}

// broken returns an error which says that the trial broke a rule. If ctx has ended, it returns ctx's error instead.
func broken(ctx context.Context, rule, format string, args ...any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return workload.Invalidf(rule, format, args...)
}

// keepExamples records the first object of each template in a raw file, as the object is sent.
func (p *target) keepExamples(raw workload.Raw, all *schedule) error {
	requests := slices.Concat(all.base, all.measured)
	for i, s := range p.sources {
		first := slices.IndexFunc(requests, func(o *timedRequest) bool { return o.source == i })
		if first < 0 {
			continue
		}
		name := fmt.Sprintf("template-%d-%s.json", i, strings.ToLower(s.kind.name))
		if err := workload.Keep(raw, name, append(requests[first].body, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Try makes one object of each template, waits until it is ready, and deletes it. Late requests break no rule.
func (c *Config) Try(ctx context.Context, site testbed.Site) (err error) {
	on, err := kube.Of(site)
	if err != nil {
		return err
	}
	one := c.single(on.Parameters().Timeouts.Ready)
	t := &workload.Trial{Site: site, Raw: workload.Discard, Round: 1}
	s, err := one.begin(ctx, t)
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() == nil { // after a cancellation the testbed removes the object
			err = errors.Join(err, t.Clear(ctx))
		}
	}()
	_, err = s.finish(ctx, t)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if trouble := s.firstFailure(ctx, on); trouble != nil {
		return trouble
	}
	return err
}

// single returns a copy of the workload that makes one object of each template. The copy waits for an object no longer
// than ready, unless ready is 0.
func (c *Config) single(ready quantity.Duration) *Config {
	one := *c
	one.Templates = slices.Clone(c.Templates)
	for i := range one.Templates {
		one.Templates[i].Fixed = 0
	}
	one.Objects, one.Churn = factor.Of(len(one.Templates)), factor.Of(quantity.Percent(0))
	one.Settle, one.Late, one.Shortfall = 0, one.Request, 1
	if ready > 0 {
		one.Ready = min(c.Ready, ready)
	}
	return &one
}

// firstFailure returns an error for the first object that was refused or is not ready, with the object's events.
func (s *runningTrial) firstFailure(ctx context.Context, on *kube.Site) error {
	for _, o := range s.schedule.measured {
		what := fmt.Sprintf("%s %s/%s", s.sources[o.source].kind.name, s.namespace, o.name)
		switch {
		case o.failure != "":
			return fmt.Errorf("make %s: %s", what, o.failure)
		case o.unready():
			late := &cluster.DiagnosedError{Err: fmt.Errorf("%s is not ready %v after it was asked for", what, s.config.Ready)}
			if c, err := on.Cluster(ctx); err == nil {
				late.Events = c.Events(ctx, s.namespace, o.name, "")
			}
			return late
		}
	}
	return nil
}
