package churn

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/factor"
)

// The benchmarks measure the cost of the workload itself on the machine that it runs on:
//
//	go test -run xxx -bench . ./internal/workload/churn

// BenchmarkSchedule encodes the requests of a trial, which happens before the trial.
func BenchmarkSchedule(b *testing.B) {
	p := inPlace(b, serve(b), config(1000, podTemplate))
	for b.Loop() {
		if _, err := p.schedule(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/object")
}

// atOnce responds to every request without a network.
type atOnce struct{ body []byte }

func (a atOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusCreated, Body: io.NopCloser(bytes.NewReader(a.body)), Header: http.Header{}, Request: r}, nil
}

// BenchmarkGenerator sends a thousand requests as fast as it can, without the cost of HTTP and TLS.
func BenchmarkGenerator(b *testing.B) {
	p := inPlace(b, serve(b), config(1000, podTemplate))
	p.api = &api{http: &http.Client{Transport: atOnce{make([]byte, 4096)}}, base: "http://api"}
	s := &runningTrial{target: p, tracker: p.newTracker()}
	for b.Loop() {
		b.StopTimer()
		all, err := p.schedule()
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range all.measured {
			o.at = 0
		}
		b.StartTimer()
		if err := s.sendAll(b.Context(), time.Now(), all.measured); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/request")
}

// aPod is a typical pod as an API server returns it: 4 KiB, most of which the workload does not read.
func aPod(i int) string {
	fields := strings.Repeat(`{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}}}}},`, 10)
	return fmt.Sprintf(`{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"churn-%d-1","namespace":"arm","resourceVersion":"%d","generation":1,
		"labels":{"tare/owner":"me"},"annotations":{"tare/revision":"1"},"managedFields":[%s{}]},"spec":{"containers":[{"name":"main","image":"pause","resources":{}}],
		"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]},
		"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True"},{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}]}}}`+"\n", i, i, fields)
}

// BenchmarkWatch reads events of pods and settles their requests.
func BenchmarkWatch(b *testing.B) {
	const pods = 1000
	var events bytes.Buffer
	for i := range pods {
		events.WriteString(aPod(i))
	}
	c := config(pods, podTemplate)
	c.Objects = factor.Of(pods)
	p := inPlace(b, serve(b), c)
	p.watching = &api{http: &http.Client{Transport: atOnce{events.Bytes()}}, base: "http://api"}
	for b.Loop() {
		b.StopTimer()
		all, err := p.schedule()
		if err != nil {
			b.Fatal(err)
		}
		tracker := p.newTracker(all.measured)
		tracker.phase(time.Now(), all.measured)
		b.StartTimer()
		if err := tracker.watches[0].stream(b.Context(), func() {}); err != nil {
			b.Fatal(err)
		}
		if err, left := tracker.wait(b.Context(), 0), tracker.left.Load(); left != 0 || err != nil {
			b.Fatalf("%d of %d pods were not seen ready (%v)", left, pods, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/pods, "µs/event")
}
