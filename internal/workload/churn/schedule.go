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

// readyMetric begins the names of the metrics of the time until an object is ready.
const readyMetric = "ready"

// timedRequest is one request with a due time, and its result. Times count from the beginning of sendAll, by this
// machine's clock.
type timedRequest struct {
	at       time.Duration // due time
	verb     verb
	source   int // index of the template
	index    int // index of the object
	name     string
	revision int // revision of the object after the request
	body     []byte
	awaited  bool // set if the trial waits until the object is ready

	after    *timedRequest // last request on the same object; its response must arrive before this request is sent
	answered chan struct{} // closed when the response has arrived; nil if no request comes after this one

	// The worker that sends the request writes these fields.
	taken, sent, done time.Duration
	failure           string // reason of the failure; "": the request succeeded
	throttled         int    // number of responses with status 429

	// readyAt is the time when the watch first showed the object ready, in nanoseconds. settled is set when the trial
	// no longer waits for the object: it is ready, or gone.
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

// turns returns the number of times that the objects are churned: as many whole turns as fit into the duration.
func (c *Config) turns() int {
	requests := c.churned()
	if c.Operation != Update {
		requests *= 2
	}
	return max(1, int(c.Duration.Std().Seconds()*float64(c.Rate.One()))/requests)
}

// span returns the time over which the measured requests are spread.
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

// schedule is all requests of a trial.
type schedule struct {
	base     []*timedRequest // requests sent before the measurement, which make fixed objects and, with churn, all other objects
	measured []*timedRequest
}

// scheduleBuilder makes the requests of a trial.
type scheduleBuilder struct {
	*target
	moving []int // indexes of the templates that are not fixed
	bytes  int
	latest map[int]*timedRequest // last request on each object, by the object's index
}

// mostBytes bounds the memory of all requests of a trial. The requests are encoded before the trial, so that
// no template is rendered while the trial runs.
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

// make makes the request that creates an object. The argument incarnation counts the objects made at this index one
// after the other, from 1. The object's name contains the incarnation.
func (l *scheduleBuilder) make(index, incarnation int) (*timedRequest, error) {
	o := &timedRequest{verb: create, source: l.moving[index%len(l.moving)], index: index,
		name: fmt.Sprintf("%s-%d-%d", l.stem, index, incarnation), revision: 1, awaited: true}
	l.latest[index] = o
	return o, l.write(o, "")
}

// churn makes the requests of all turns, in which the churned objects go down and up again or change. The churned
// objects are spread evenly among all objects.
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

// changes returns the one or two changes of a turn. Each change is a function that makes the request for the object at
// an index. The first change is made to all churned objects before the second change begins.
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

// waitFor makes a request wait for the response to the last request on the same object.
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

// write encodes the body of a request. The argument scale is the direction of scaling; "": the request does not scale.
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

// scaling returns the patch that scales an object to no replicas (down), or to its template's number (up).
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
