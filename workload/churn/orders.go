package churn

import (
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/json"
)

type verb int

const (
	create verb = iota
	update
	remove
)

var verbs = []verb{create, update, remove}

// String names the verb.
func (v verb) String() string { return [...]string{"create", "update", "delete"}[v] }

func (v verb) metric() string { return v.String() + "-latency" }

// readyMetric is the name of the metrics of the time until an object is ready.
const readyMetric = "ready"

// order is one request that is due at its time, and what became of it. Times
// count from the start of its phase, by the clock of this machine.
type order struct {
	at       time.Duration // intended
	verb     verb
	source   int    // index of the template
	index    int    // of the object
	name     string // of the object
	revision int    // that the object has afterwards
	body     []byte
	awaited  bool // the object is to become ready

	after    *order        // on the same object; it must have been answered before
	answered chan struct{} // closed when it is; nil if no order comes after

	// Written by the worker that sends it.
	taken, sent, done time.Duration
	failure           string // why it failed; "": it did not
	throttled         int    // answers of 429

	// readyAt is when the watch first showed the object ready, in nanoseconds.
	// settled says that nothing is awaited any more: it is ready, or given up.
	readyAt atomic.Int64
	settled atomic.Bool
}

// counts is how many requests of each kind the measured part sends.
func (c *Config) counts() map[verb]int {
	if c.Churn.One() == 0 {
		return map[verb]int{create: c.Objects.One()}
	}
	n := c.turns() * c.churned()
	switch c.Operation {
	case Recreate:
		return map[verb]int{create: n, remove: n}
	case Scale:
		return map[verb]int{update: 2 * n}
	}
	return map[verb]int{update: n}
}

// churned is the number of objects that are churned: at least one.
func (c *Config) churned() int {
	n := int(math.Round(float64(c.Churn.One()) * float64(c.Objects.One())))
	return min(max(n, 1), c.Objects.One())
}

// turns is how often they are: as many whole turns as fit into the duration.
func (c *Config) turns() int {
	requests := c.churned()
	if c.Operation != Update {
		requests *= 2
	}
	return max(1, int(c.Duration.Std().Seconds()*float64(c.Rate.One()))/requests)
}

// span is how long the measured requests are spread over.
func (c *Config) span() time.Duration {
	n := 0
	for _, k := range c.counts() {
		n += k
	}
	return due(n, float64(c.Rate.One()))
}

// due is when request i is intended at that rate.
func due(i int, rate float64) time.Duration {
	return time.Duration(float64(i) / rate * float64(time.Second))
}

// orders lays out all requests of a trial.
type orders struct {
	base     []*order // before the measurement: fixed objects, and those to be churned
	measured []*order
}

// layout makes the orders of a trial in a namespace, whose objects carry the
// marks given.
type layout struct {
	config    *Config
	sources   []*source
	namespace string
	stem      string // of the objects' names
	own       marks
	moving    []int // templates that are not fixed
	bytes     int
	latest    map[int]*order // by object: the last order on it
}

// mostBytes is what all requests of a trial may take in memory: they are written
// before the trial, so that nothing is rendered while it runs.
const mostBytes = 1 << 30

// layOut makes the orders of a trial.
func (c *Config) layOut(sources []*source, namespace, stem string, own marks) (*orders, error) {
	l := &layout{config: c, sources: sources, namespace: namespace, stem: stem, own: own, latest: map[int]*order{}}
	var all orders
	for i, s := range sources {
		if s.fixed == 0 {
			l.moving = append(l.moving, i)
		}
		for k := range s.fixed {
			o := &order{verb: create, source: i, index: k, name: fmt.Sprintf("%s-fixed-%d-%d", stem, i, k), revision: 1, awaited: true}
			if err := l.write(o, ""); err != nil {
				return nil, err
			}
			all.base = append(all.base, o)
		}
	}
	var making []*order
	for i := range c.Objects.One() {
		o, err := l.make(i, 1)
		if err != nil {
			return nil, err
		}
		making = append(making, o)
	}
	if c.Churn.One() == 0 {
		all.measured = making
	} else {
		all.base = append(all.base, making...)
		var err error
		if all.measured, err = l.churn(); err != nil {
			return nil, err
		}
	}
	for i, o := range all.measured {
		o.at = due(i, float64(c.Rate.One()))
	}
	return &all, nil
}

// make orders an object in one of its incarnations, from 1.
func (l *layout) make(index, incarnation int) (*order, error) {
	o := &order{verb: create, source: l.moving[index%len(l.moving)], index: index,
		name: fmt.Sprintf("%s-%d-%d", l.stem, index, incarnation), revision: 1, awaited: true}
	l.latest[index] = o
	return o, l.write(o, "")
}

// churn orders all turns. The objects that take part lie evenly among all.
func (l *layout) churn() ([]*order, error) {
	c := l.config
	var list []*order
	for turn := 1; turn <= c.turns(); turn++ {
		for _, half := range l.halves(turn) {
			for k := range c.churned() {
				o, err := half(k * c.Objects.One() / c.churned())
				if err != nil {
					return nil, err
				}
				list = append(list, o)
			}
		}
	}
	return list, nil
}

// halves are what a turn does to each object, one after the other for all.
func (l *layout) halves(turn int) []func(index int) (*order, error) {
	change := func(scale string) func(int) (*order, error) {
		return func(index int) (*order, error) {
			before := l.latest[index]
			o := &order{verb: update, source: before.source, index: index, name: before.name, revision: before.revision + 1, awaited: true}
			l.follow(o, before)
			return o, l.write(o, scale)
		}
	}
	switch l.config.Operation {
	case Scale:
		return []func(int) (*order, error){change(down), change(up)}
	case Update:
		return []func(int) (*order, error){change("")}
	}
	return []func(int) (*order, error){
		func(index int) (*order, error) {
			before := l.latest[index]
			o := &order{verb: remove, source: before.source, index: index, name: before.name}
			l.follow(o, before)
			return o, nil
		},
		func(index int) (*order, error) { return l.make(index, turn+1) },
	}
}

// follow has an order wait for the one before it on the same object.
func (l *layout) follow(o, before *order) {
	if before.answered == nil {
		before.answered = make(chan struct{})
	}
	o.after = before
	l.latest[o.index] = o
}

// The two halves of scaling.
const (
	down = "down"
	up   = "up"
)

// write makes the body of an order.
func (l *layout) write(o *order, scale string) error {
	s := l.sources[o.source]
	v := values{Index: o.index, Name: o.name, Namespace: l.namespace, Objects: l.config.Objects.One(), Revision: o.revision}
	object, err := s.render(v)
	if err != nil {
		return l.blame(o, err)
	}
	if scale != "" {
		o.body, err = scaling(object, scale, o.revision)
	} else {
		o.body, err = s.finish(object, v, l.own)
	}
	if err != nil {
		return l.blame(o, err)
	}
	if l.bytes += len(o.body); l.bytes > mostBytes {
		return fmt.Errorf("the requests of one trial take more than %d MiB: fewer objects, smaller ones, or a shorter duration will do", mostBytes>>20)
	}
	return nil
}

func (l *layout) blame(o *order, err error) error {
	return fmt.Errorf("templates[%d], object %d: %w", o.source, o.index, err)
}

// scaling is the change of an object to no replicas, or to its template's.
func scaling(object map[string]any, direction string, revision int) ([]byte, error) {
	n, ok := replicas(object)
	if !ok || n < 1 {
		return nil, fmt.Errorf("operation scale needs spec.replicas of 1 or more in the template")
	}
	if direction == down {
		n = 0
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{revisionKey: strconv.Itoa(revision)}},
		"spec":     map[string]any{"replicas": n},
	})
}
