package load

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	h := NewHistogram()
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{{0, 1}, {0.001, 1}, {0.5, 500}, {0.9, 900}, {0.999, 999}, {1, 1000}} {
		want := test.want * time.Microsecond
		if got := h.At(test.q); got < want || float64(got) > 1.001*float64(want) {
			t.Errorf("quantile %v: %v, not %v", test.q, got, want)
		}
	}
	if got := h.At(0.001); got != time.Microsecond {
		t.Errorf("a microsecond is %v", got)
	}
	if mean := float64(h.Mean()); math.Abs(mean/500_500-1) > 0.001 {
		t.Errorf("mean %v", h.Mean())
	}
	h.Record(-time.Second)
	h.Record(time.Minute)
	h.Record(time.Minute + 1)
	h.Record(time.Hour)
	if h.Count() != 1004 || h.over != 2 || h.At(1) != time.Minute || h.Max() != time.Minute {
		t.Errorf("%d times, %d over, at most %v and %v", h.Count(), h.over, h.At(1), h.Max())
	}
}

// The merged results of several clients equal the result of one client that measured all. Encoding as JSON
// loses nothing.
func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one := NewResult()
	parts := []*Result{NewResult(), NewResult(), NewResult(), NewResult()}
	for i := range 20_000 {
		d := time.Duration(math.Exp(random.NormFloat64()*2+13)) + time.Duration(i/19_990)*time.Hour
		part := parts[random.IntN(4)]
		for _, r := range []*Result{one, part} {
			x := Exchange{Name: "all", Due: d, Free: d + d/100, Sent: d + d/100 + d/1000, First: d + d/2, Last: 2 * d, Paced: true, BytesReceived: int64(i)}
			if i%500 == 0 {
				x.Kind, x.Text = Timeout, "late"
			}
			r.Add(x, 0)
			r.Connect.Record(d / 10)
			r.Handshakes["clear"]++
			r.Duration = time.Second
		}
	}
	want, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	var through []*Result
	for _, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		r := new(Result)
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]*Histogram{{p.Latency, r.Latency}, {p.FirstByte, r.FirstByte}, {p.Failed, r.Failed}, {p.Lag, r.Lag}, {p.Waited, r.Waited}, {p.Connect, r.Connect}, {p.Named["all"], r.Named["all"]}} {
			if !pair[0].Raw().Equals(pair[1].Raw()) || pair[0].Count() != pair[1].Count() || pair[0].Count() == 0 {
				t.Error("the way through JSON changed a histogram")
			}
		}
		through = append(through, r)
	}
	got, err := json.Marshal(Merge(through...))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("merged:\n%.300s\none:\n%.300s", got, want)
	}
	if one.Latency.over == 0 {
		t.Error("no latency of more than a minute in the test")
	}
	if joined := Join(through...); joined.Duration != 4*time.Second || joined.Due != 20_000 {
		t.Errorf("joined: %v, %d", joined.Duration, joined.Due)
	}
}

// Failed requests count as longer than any other. A quantile needs a hundred requests beyond it.
func TestQuantile(t *testing.T) {
	r := NewResult()
	for i := range 10_000 {
		kind := Kind("")
		if i >= 9_900 {
			kind = Closed
		}
		r.Add(Exchange{Kind: kind, Last: time.Duration(i+1) * time.Microsecond}, 0)
	}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{{0.5, 5000}, {0.99, 9900}, {0.9901, 0}, {0.999, 0}} {
		got, ok := r.Quantile(test.q)
		want := test.want * time.Microsecond
		if ok != (want > 0) || got < want || float64(got) > 1.001*float64(want) {
			t.Errorf("quantile %v: %v %v, not %v", test.q, got, ok, want)
		}
	}
}

func TestHistogramOfAnotherRange(t *testing.T) {
	for _, text := range []string{`{}`, `{"v2":"x"}`, `{"v2":"HISTFAAAACB4nJNpmSzMwMDAyAABzFCaEURcm7yEwf4DRAQAV0MDqg=="}`} {
		if err := json.Unmarshal([]byte(text), new(Histogram)); err == nil {
			t.Errorf("%s is taken for a histogram", text)
		}
	}
}

// Gaps of Poisson arrivals are exponential, by the Kolmogorov-Smirnov distance at 1 %.
func TestPoisson(t *testing.T) {
	const n, rate = 10_000, 1000.0
	a := newArrivals(Span{Rate: rate, Arrivals: Poisson}, rand.New(rand.NewPCG(7, 7)))
	var gaps []float64
	for last := time.Duration(0); len(gaps) < n; {
		at := a.next()
		gaps = append(gaps, (at - last).Seconds())
		last = at
	}
	slices.Sort(gaps)
	distance := 0.0
	for i, g := range gaps {
		f := 1 - math.Exp(-rate*g)
		distance = max(distance, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
	}
	if limit := 1.63 / math.Sqrt(n); distance > limit {
		t.Errorf("distance from the exponential distribution %.4f, limit %.4f", distance, limit)
	}
}

// Constant arrivals do not drift, and phases interleave.
func TestConstant(t *testing.T) {
	a := newArrivals(Span{Rate: 3}, nil)
	half := newArrivals(Span{Rate: 3, Phase: 0.5}, nil)
	for i := range 300_001 {
		at, between := a.next(), half.next()
		if i == 300_000 && (at != 100_000*time.Second || (between-at-time.Second/6).Abs() > time.Microsecond) {
			t.Errorf("request %d at %v and %v", i, at, between)
		}
	}
}

func TestValidate(t *testing.T) {
	c := Config{
		URL: "ftp://x", Protocol: "spdy", Streams: -1, RequestsPerConnection: -1,
		Requests: []Request{{Method: "HEAD", Path: "x y", Payload: 1, Body: []byte("a"), Headers: [][2]string{{"Host", "a"}, {"a b", "c"}, {"a", "b\r\nc: d"}}, Weight: -1}},
	}
	err := c.validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`url "ftp://x": it must be http://HOST or https://HOST`, `protocol "spdy"`, "connections 0", "streams -1",
		"requestsPerConnection -1", "method HEAD", `path "x y"`, `"Host"`, `"a b"`, `b\r\nc: d`, "payload and body", "weight -1",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	for span, want := range map[*Span]string{
		{}: "give a rate", {Rate: 1, Workers: 1}: "only one", {Rate: math.NaN(), Duration: 1}: "rate NaN", {Workers: 1}: "duration 0s",
		{Rate: 1, Arrivals: "bursts", Duration: 1}: `arrivals "bursts"`, {Rate: 1, Phase: 2, Duration: 1}: "phase 2", {Rate: -1, Duration: 1}: "rate -1", {Workers: -1, Duration: 1}: "workers -1",
	} {
		if err := span.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, not %q", span, err, want)
		}
	}
}
