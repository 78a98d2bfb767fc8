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

// String returns the verb's name in metrics and raw files.
func (v verb) String() string { return [...]string{"create", "update", "delete"}[v] }

func (v verb) metric() string { return v.String() + "-latency" }

// readyMetric is the first part of the names of metrics of the time until an object is ready, such as ready-p99.
const readyMetric = "ready"

// timedRequest is one request with its due time and its result. All its times count from the beginning of sendAll.
type timedRequest struct {
	at       time.Duration // due time
	verb     verb
	source   int // index of the template
	index    int // index of the object
	name     string
	revision int // revision of the object after the request
	body     []byte
	awaited  bool // set if the trial waits until the object is ready

	after    *timedRequest // earlier request on the same object; this request waits for that request's response
	answered chan struct{} // closed when the response has arrived; nil if no request comes after this one

	// The worker that sends the request writes these fields.
	taken, sent, done time.Duration
	failure           string // reason of the failure; "": the request succeeded
	throttled         int    // number of responses with status 429

	// readyAt is the time, in ns, when the watch first showed the object ready. settled is true once the object is
	// ready or gone, and no longer awaited.
	readyAt atomic.Int64
	settled atomic.Bool
}

// unready reports whether the trial waits for an object that the watch has not shown ready.
func (o *timedRequest) unready() bool { return o.awaited && o.readyAt.Load() == 0 }

// counts returns the number of requests of each kind in the measured part.
func (c *Config) counts() map[verb]int {
	if c.Churn.One() == 0 {
		return map[verb]int{create: c.Objects.One()}
	}
	n := c.turns() * c.churned()
	switch c.Operation {
	case recreate:
		return map[verb]int{create: n, remove: n}
	case scale:
		return map[verb]int{update: 2 * n}
	}
	return map[verb]int{update: n}
}

// churned returns the number of objects that are churned: at least one.
func (c *Config) churned() int {
	n := int(math.Round(float64(c.Churn.One()) * float64(c.Objects.One())))
	return min(max(n, 1), c.Objects.One())
}

// turns returns how often a trial changes each of its churned objects. A last turn that the duration would cut off is
// left out, but one is always made.
func (c *Config) turns() int {
	requests := c.churned()
	if c.Operation != Update {
		requests *= 2
	}
	return max(1, int(c.Duration.Std().Seconds()*float64(c.Rate.One()))/requests)
}

// span returns the time that sending takes: the number of measured requests divided by the rate.
func (c *Config) span() time.Duration {
	n := 0
	for _, k := range c.counts() {
		n += k
	}
	return due(n, float64(c.Rate.One()))
}

// due returns the due time of request i at this rate.
func due(i int, rate float64) time.Duration {
	return time.Duration(float64(i) / rate * float64(time.Second))
}

// schedule holds all requests of a trial.
type schedule struct {
	base     []*timedRequest // requests before the measured time: they make fixed objects; with churn, all objects
	measured []*timedRequest
}

// scheduleBuilder makes the requests of a trial.
type scheduleBuilder struct {
	*target
	moving []int // indexes of the templates without a fixed number of objects
	bytes  int
	latest map[int]*timedRequest // by the object's index: the latest request on this object
}

// mostBytes bounds the memory of all requests of a trial. They are encoded before the trial, so that no template is
// rendered while it runs.
const mostBytes = 1 << 30

func (p *target) schedule() (*schedule, error) {
	c, l := p.config, &scheduleBuilder{target: p, latest: map[int]*timedRequest{}}
	var all schedule
	for i, s := range p.sources {
		if s.fixed == 0 {
			l.moving = append(l.moving, i)
		}
		for k := range s.fixed {
			o := &timedRequest{verb: create, source: i, index: k, name: fmt.Sprintf("%s-fixed-%d-%d", p.stem, i, k), revision: 1, awaited: true}
			if err := l.write(o, ""); err != nil {
				return nil, err
			}
			all.base = append(all.base, o)
		}
	}
	var making []*timedRequest
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

// make makes the request that creates an object. incarnation counts the objects made at this index, from 1, and is in
// the object's name.
func (l *scheduleBuilder) make(index, incarnation int) (*timedRequest, error) {
	o := &timedRequest{verb: create, source: l.moving[index%len(l.moving)], index: index,
		name: fmt.Sprintf("%s-%d-%d", l.stem, index, incarnation), revision: 1, awaited: true}
	l.latest[index] = o
	return o, l.write(o, "")
}

// churn makes the requests of all turns, in which objects change, or go down and up. They are spread evenly: 10 of 100
// are every tenth object.
func (l *scheduleBuilder) churn() ([]*timedRequest, error) {
	c := l.config
	var list []*timedRequest
	for turn := 1; turn <= c.turns(); turn++ {
		for _, half := range l.changes(turn) {
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

// changes returns the steps of a turn, such as down and up. A step makes the request for the object at an index; all
// objects take it before the next step.
func (l *scheduleBuilder) changes(turn int) []func(index int) (*timedRequest, error) {
	change := func(scale string) func(int) (*timedRequest, error) {
		return func(index int) (*timedRequest, error) {
			before := l.latest[index]
			o := &timedRequest{verb: update, source: before.source, index: index, name: before.name, revision: before.revision + 1, awaited: true}
			l.waitFor(o, before)
			return o, l.write(o, scale)
		}
	}
	switch l.config.Operation {
	case scale:
		return []func(int) (*timedRequest, error){change(down), change(up)}
	case Update:
		return []func(int) (*timedRequest, error){change("")}
	}
	return []func(int) (*timedRequest, error){
		func(index int) (*timedRequest, error) {
			before := l.latest[index]
			o := &timedRequest{verb: remove, source: before.source, index: index, name: before.name}
			l.waitFor(o, before)
			return o, nil
		},
		func(index int) (*timedRequest, error) { return l.make(index, turn+1) },
	}
}

// waitFor makes the request o wait until the request before has a response. Both requests are about one object.
func (l *scheduleBuilder) waitFor(o, before *timedRequest) {
	if before.answered == nil {
		before.answered = make(chan struct{})
	}
	o.after = before
	l.latest[o.index] = o
}

// Directions of scaling.
const (
	down = "down"
	up   = "up"
)

// write encodes the body of a request. The argument scale is "down" or "up" for a request that scales an object, and ""
// for any other request.
func (l *scheduleBuilder) write(o *timedRequest, scale string) error {
	s := l.sources[o.source]
	v := values{Index: o.index, Name: o.name, Namespace: l.namespace, Objects: l.config.Objects.One(), Revision: o.revision}
	object, err := s.render(v)
	switch {
	case err != nil:
	case scale != "":
		o.body, err = scaling(object, scale, o.revision)
	default:
		o.body, err = s.finish(object, v, l.own)
	}
	if err != nil {
		return fmt.Errorf("templates[%d], object %d: %w", o.source, o.index, err)
	}
	if l.bytes += len(o.body); l.bytes > mostBytes {
		return fmt.Errorf("the requests of one trial take more than %d MiB: fewer objects, smaller ones, or a shorter duration will do", mostBytes>>20)
	}
	return nil
}

// scaling returns a patch that sets an object's number of replicas: to 0 (down), or to the number in its template (up).
func scaling(object map[string]any, direction string, revision int) ([]byte, error) {
	spec, _ := object["spec"].(map[string]any)
	n, ok := spec["replicas"].(int64)
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
