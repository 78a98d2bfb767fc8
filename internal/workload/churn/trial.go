package churn

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/workload"
)

// role is the value of inventory.RoleLabel on the objects of this workload.
const role = "churn"

// target is the namespace for a trial's objects, with the connections to its API server.
type target struct {
	api       *api // connection for requests and lists
	watching  *api // second connection, so that events do not wait behind responses
	namespace string
	stem      string // beginning of the objects' names
	own       ownership
	selector  string
	sources   []*source
	resources []resource // indexed by template
}

// Prepare deletes leftovers, makes the objects that must exist before the measurement, and starts the watches.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	s, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return s.finish(ctx, t) }, nil
}

// begin does the work of Prepare. The caller ends the trial, and closes the connections of its target.
func (c *Config) begin(ctx context.Context, t *workload.Trial) (s *runningTrial, err error) {
	on, err := kube.Of(t.Site)
	if err != nil {
		return nil, err
	}
	t.Clear = func(ctx context.Context) error { return c.clear(ctx, on) }
	p, err := c.targetAt(ctx, on)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	var kinds []schema.GroupVersionResource
	for _, r := range distinct(p.resources) {
		kinds = append(kinds, r.GroupVersionResource)
	}
	if err := on.Record(ctx, kinds...); err != nil {
		return nil, err
	}
	return c.prepare(ctx, p, t.Raw)
}

// clear deletes the trial's objects and waits until they are gone, so that the deletion is no load for the
// next trial, in whichever arm.
func (c *Config) clear(ctx context.Context, on *kube.Site) error {
	p, err := c.targetAt(ctx, on)
	if err != nil {
		return err
	}
	defer p.close()
	return p.clean(ctx, deleteLimit(c.Objects.One()+c.fixed()))
}

// distinct returns the resources without repetitions.
func distinct(resources []resource) []resource {
	var list []resource
	for _, r := range resources {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// compile parses all templates.
func (c *Config) compile() ([]*source, error) {
	var list []*source
	for i, t := range c.Templates {
		s, err := t.compile()
		if err != nil {
			return nil, fmt.Errorf("templates[%d]: %w", i, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// targetAt returns the target of a trial at a site.
func (c *Config) targetAt(ctx context.Context, on *kube.Site) (*target, error) {
	cluster, err := on.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	sources, err := c.compile()
	if err != nil {
		return nil, err
	}
	owners, err := on.Owners(ctx)
	if err != nil {
		return nil, err
	}
	return c.newTarget(ctx, cluster, on.Namespace(), ownership{on.Labels(), owners}, sources)
}

// newTarget connects to the cluster and finds the resources of the templates.
func (c *Config) newTarget(ctx context.Context, cluster *cluster.Cluster, namespace string, own ownership, sources []*source) (*target, error) {
	own.labels = maps.Clone(own.labels)
	own.labels[inventory.RoleLabel] = role
	p := &target{namespace: namespace, stem: newStem(), own: own, selector: labels.Set(own.labels).String(), sources: sources}
	var err error
	if p.api, err = connect(cluster.Config); err != nil {
		return nil, err
	}
	if p.watching, err = connect(cluster.Config); err != nil {
		return nil, err
	}
	for i, s := range sources {
		r, err := p.find(ctx, s.kind, c.Request.Std())
		if err != nil {
			p.close()
			return nil, fmt.Errorf("templates[%d]: %w", i, err)
		}
		p.resources = append(p.resources, r)
	}
	return p, nil
}

// newStem returns a random beginning for the names of a trial's objects. The names of two trials must differ: a slow
// controller may still act on an earlier trial's object by its name. kwok deletes pods by name, for example, and
// would delete pods of this trial.
func newStem() string { return fmt.Sprintf("churn-%06x", rand.N(1<<24)) }

// find asks for the resource of a kind, within the time limit of a request.
func (p *target) find(ctx context.Context, k kind, limit time.Duration) (resource, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := p.api.resource(limited, k)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil && limited.Err() != nil:
		return r, fmt.Errorf("the API server did not give the resource of %s within %v (requestTimeout): %w", k, quantity.Duration(limit), err)
	}
	return r, err
}

// close closes the connections.
func (p *target) close() {
	p.api.close()
	p.watching.close()
}

// runningTrial is a trial between the beginning of Prepare and its end.
type runningTrial struct {
	*target
	config   *Config
	schedule *schedule
	tracker  *tracker
	running  sync.WaitGroup // goroutines of the watches
	stop     context.CancelFunc
}

// prepare does the steps of a trial before the measurement.
func (c *Config) prepare(ctx context.Context, p *target, raw workload.Raw) (*runningTrial, error) {
	schedule, err := c.schedule(p.sources, p.namespace, p.stem, p.own)
	if err != nil {
		return nil, err
	}
	if err := keepExamples(raw, p.sources, schedule); err != nil {
		return nil, err
	}
	if err := p.clean(ctx, deleteLimit(c.Objects.One()+c.fixed())); err != nil {
		return nil, broken(ctx, workload.RuleTimeout, "what an earlier trial made: %v", err)
	}
	if testbed.Pause(ctx, c.Settle.Std()) != nil { // the pause keeps the load of deleting old objects out of this trial
		return nil, ctx.Err()
	}
	s := &runningTrial{target: p, config: c, schedule: schedule}
	s.tracker = newTracker(p.watching, p.namespace, p.selector, p.sources, p.resources, schedule.base, schedule.measured)
	watching, stop := context.WithCancel(ctx)
	s.stop = stop
	if err := s.tracker.run(watching, &s.running); err != nil {
		s.end()
		return nil, broken(ctx, workload.RuleErrors, "%v", err)
	}
	if err := s.makeBase(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *runningTrial) end() {
	s.stop()
	s.running.Wait()
}

func (s *runningTrial) generator() *generator {
	return &generator{api: s.api, resources: s.resources, namespace: s.namespace, workers: s.config.Concurrency,
		limit: s.config.Request.Std(), abandon: s.tracker.settle}
}

// makeBase makes the objects that must exist before the measurement, as fast as the cluster allows. It waits until
// all are ready, and lets the cluster settle.
func (s *runningTrial) makeBase(ctx context.Context) error {
	base := s.schedule.base
	if len(base) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.config.makeLimit())
	defer cancel()
	start := time.Now()
	s.tracker.phase(start, base)
	err := s.generator().run(limited, start, base)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	for _, o := range base {
		if o.failure != "" {
			return workload.Invalidf(workload.RuleErrors, "%s could not be made before the measurement: %s", o.name, o.failure)
		}
	}
	if err != nil {
		return workload.Invalidf(workload.RuleTimeout, "%d objects were not made before the measurement within %v", len(base), s.config.makeLimit())
	}
	left, err := s.tracker.wait(ctx, 2*s.config.Ready.Std())
	if err != nil {
		return err
	}
	if lost := neverReady(base); left > 0 || lost > 0 {
		return workload.Invalidf(workload.RuleTimeout, "%d of %d objects made before the measurement were not ready after %v", max(int(left), lost), len(base), 2*s.config.Ready.Std())
	}
	if err := s.tracker.checkUndated(s.sources); err != nil {
		return err
	}
	if testbed.Pause(ctx, s.config.Settle.Std()) != nil {
		return ctx.Err()
	}
	return nil
}

func neverReady(list []*timedRequest) int {
	n := 0
	for _, o := range list {
		if o.awaited && o.readyAt.Load() == 0 {
			n++
		}
	}
	return n
}

// finish sends the load, waits until the objects are ready, and ends the trial.
func (s *runningTrial) finish(ctx context.Context, t *workload.Trial) (workload.Result, error) {
	defer s.close()
	defer s.end()
	c := s.config
	start := time.Now()
	s.tracker.phase(start, s.schedule.measured)
	if err := s.generator().run(ctx, start, s.schedule.measured); err != nil {
		return workload.Result{}, err
	}
	if _, err := s.tracker.wait(ctx, c.Ready.Std()); err != nil {
		return workload.Result{}, err
	}
	if testbed.Pause(ctx, c.Settle.Std()) != nil {
		return workload.Result{}, ctx.Err()
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

// broken returns a broken rule, or the context's error if the context has ended.
func broken(ctx context.Context, rule, format string, args ...any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return workload.Invalidf(rule, format, args...)
}

// keepExamples keeps, as a raw file, the first object of each template in the form that is sent.
func keepExamples(raw workload.Raw, sources []*source, all *schedule) error {
	kept := map[int]bool{}
	for _, o := range slices.Concat(all.base, all.measured) {
		if kept[o.source] {
			continue
		}
		kept[o.source] = true
		name := fmt.Sprintf("template-%d-%s.json", o.source, strings.ToLower(sources[o.source].kind.name))
		if err := workload.Keep(raw, name, append(o.body, '\n')); err != nil {
			return err
		}
	}
	return nil
}
