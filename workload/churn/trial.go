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

	"tare/experiment/quantity"
	"tare/testbed"
	"tare/testbed/kube"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/workload"
)

// role is the value of inventory.RoleLabel on what this workload makes.
const role = "churn"

// place is where a trial's objects go.
type place struct {
	api       *api // for orders and lists
	watching  *api // a connection of its own, so that events do not wait behind answers
	namespace string
	stem      string // of the objects' names
	own       marks
	selector  string
	sources   []*source
	resources []resource // by template
}

// Prepare proves a clean slate, makes what there must be before the measurement,
// and begins to watch.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	s, err := c.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (workload.Result, error) { return s.finish(ctx, t) }, nil
}

// begin is Prepare. The caller ends the session, and leaves its place.
func (c *Config) begin(ctx context.Context, t *workload.Trial) (s *session, err error) {
	on, err := kube.Of(t.Site)
	if err != nil {
		return nil, err
	}
	t.Clear = func(ctx context.Context) error { return c.clear(ctx, on) }
	p, err := c.at(ctx, on)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.leave()
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

// clear deletes what the trial has made and waits until it is gone, so that the
// next one, in whichever arm, does not carry its load.
func (c *Config) clear(ctx context.Context, on *kube.Site) error {
	p, err := c.at(ctx, on)
	if err != nil {
		return err
	}
	defer p.leave()
	return p.clean(ctx, deleteLimit(c.Objects.One()+c.fixed()))
}

// distinct are the different resources of a trial.
func distinct(resources []resource) []resource {
	var list []resource
	for _, r := range resources {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// compile reads all templates.
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

// at gives the place of a trial at a site.
func (c *Config) at(ctx context.Context, on *kube.Site) (*place, error) {
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
	return c.settleIn(ctx, cluster, on.Namespace(), marks{on.Labels(), owners}, sources)
}

// settleIn connects to the cluster and finds the resources of the templates.
func (c *Config) settleIn(ctx context.Context, cluster *cluster.Cluster, namespace string, own marks, sources []*source) (*place, error) {
	own.labels = maps.Clone(own.labels)
	own.labels[inventory.RoleLabel] = role
	p := &place{namespace: namespace, stem: newStem(), own: own, selector: labels.Set(own.labels).String(), sources: sources}
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
			p.leave()
			return nil, fmt.Errorf("templates[%d]: %w", i, err)
		}
		p.resources = append(p.resources, r)
	}
	return p, nil
}

// newStem begins the names of a trial's objects, and no other's. A controller that
// is behind may still act on an object of an earlier trial by its name: kwok
// deletes pods so, and would delete those of this trial.
func newStem() string { return fmt.Sprintf("churn-%06x", rand.N(1<<24)) }

// find asks for the resource of a kind, for as long as a request may take.
func (p *place) find(ctx context.Context, k kind, limit time.Duration) (resource, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := p.api.resource(limited, k)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil && limited.Err() != nil:
		return r, fmt.Errorf("the API server did not tell the resource of %s within %v (requestTimeout): %w", k, quantity.Duration(limit), err)
	}
	return r, err
}

// leave gives up the connections.
func (p *place) leave() {
	p.api.close()
	p.watching.close()
}

// session is a trial under way.
type session struct {
	*place
	config  *Config
	orders  *orders
	tracker *tracker
	running sync.WaitGroup // the watches
	stop    context.CancelFunc
}

// prepare does what comes before the measurement.
func (c *Config) prepare(ctx context.Context, p *place, raw workload.Raw) (*session, error) {
	orders, err := c.layOut(p.sources, p.namespace, p.stem, p.own)
	if err != nil {
		return nil, err
	}
	if err := keepExamples(raw, p.sources, orders); err != nil {
		return nil, err
	}
	if err := p.clean(ctx, deleteLimit(c.Objects.One()+c.fixed())); err != nil {
		return nil, broken(ctx, workload.RuleTimeout, "what an earlier trial made: %v", err)
	}
	if testbed.Pause(ctx, c.Settle.Std()) != nil { // what the deletion before this trial set off is not its load
		return nil, ctx.Err()
	}
	s := &session{place: p, config: c, orders: orders}
	s.tracker = newTracker(p.watching, p.namespace, p.selector, p.sources, p.resources, orders.base, orders.measured)
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

func (s *session) end() {
	s.stop()
	s.running.Wait()
}

func (s *session) generator() *generator {
	return &generator{api: s.api, resources: s.resources, namespace: s.namespace, workers: s.config.Concurrency,
		limit: s.config.Request.Std(), abandon: s.tracker.settle}
}

// makeBase makes what there must be before the measurement, as fast as it goes,
// waits until all of it is ready, and lets the cluster settle.
func (s *session) makeBase(ctx context.Context) error {
	base := s.orders.base
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
	if err := s.tracker.tellsUpdates(s.sources); err != nil {
		return err
	}
	if testbed.Pause(ctx, s.config.Settle.Std()) != nil {
		return ctx.Err()
	}
	return nil
}

func neverReady(list []*order) int {
	n := 0
	for _, o := range list {
		if o.awaited && o.readyAt.Load() == 0 {
			n++
		}
	}
	return n
}

// finish is the measured part, with which the session ends.
func (s *session) finish(ctx context.Context, t *workload.Trial) (workload.Result, error) {
	defer s.leave()
	defer s.end()
	return s.measure(ctx, t)
}

// measure sends the load and waits for what comes of it.
func (s *session) measure(ctx context.Context, t *workload.Trial) (workload.Result, error) {
	c := s.config
	start := time.Now()
	s.tracker.phase(start, s.orders.measured)
	if err := s.generator().run(ctx, start, s.orders.measured); err != nil {
		return workload.Result{}, err
	}
	if _, err := s.tracker.wait(ctx, c.Ready.Std()); err != nil {
		return workload.Result{}, err
	}
	if testbed.Pause(ctx, c.Settle.Std()) != nil {
		return workload.Result{}, ctx.Err()
	}
	s.end() // before the outcome is read
	out := summarize(s.orders.measured, float64(c.Rate.One()), start)
	out.unseen, out.breaks = s.tracker.unseen()
	if err := out.write(t.Raw); err != nil {
		return workload.Result{}, err
	}
	if err := c.judge(t, out); err != nil {
		return workload.Result{}, err
	}
	return workload.Result{Values: out.values(), Work: float64(out.succeeded), Failed: out.failed()}, nil
}

// broken is a rule that a trial broke, or the reason for which the run ends.
func broken(ctx context.Context, rule, format string, args ...any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return workload.Invalidf(rule, format, args...)
}

// keepExamples keeps the first object of each template as it is sent.
func keepExamples(raw workload.Raw, sources []*source, all *orders) error {
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
