package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tare/hack/bench/table"
	"tare/internal/stats"
	"tare/internal/workload/http/load"
)

// rates compares the highest rate of a closed loop.
func (b *bench) rates() error {
	s, err := b.serve("builtin")
	if err != nil {
		return err
	}
	defer s.stop(nil)
	const reference = "wrk -t1"
	ways := []way{
		{"tare, one CPU", "tare", task{Threads: 1}}, {"tare", "tare", task{}},
		{reference, "wrk", task{Threads: 1}}, {"wrk, a thread per CPU", "wrk", task{}}, {"fortio", "fortio", task{}},
	}
	perCPU, rate := map[string][]float64{}, map[string][]float64{}
	for range b.rounds {
		if err := b.each(ways, func(w way) error {
			f, err := b.generate(w.generator, task{URL: s.url + "/bytes/128", Connections: 16, Duration: b.duration, Threads: w.Threads})
			if err != nil {
				return err
			}
			if f.Errors > 0 {
				return fmt.Errorf("%s: %d errors", w.title, f.Errors)
			}
			rate[w.title] = append(rate[w.title], float64(f.Requests)/f.Seconds)
			perCPU[w.title] = append(perCPU[w.title], float64(f.Requests)/f.CPU)
			return nil
		}); err != nil {
			return err
		}
	}
	t := &table.Table{Title: "Highest rate", Head: []string{"generator", "requests/s", "to " + reference, "requests per CPU second", "to " + reference + " "}}
	t.Note("HTTP/1.1, 16 connections, as many workers, answers of 128 bytes from the builtin server on the same CPUs; "+
		"%d rounds of %v. Medians; ratios are paired by round, with the 95 %% interval of the signed-rank test. CPU time is the generator's own.", b.rounds, b.duration)
	for _, w := range ways {
		t.Add(w.title, fmt.Sprintf("%.0f", stats.Median(rate[w.title])), ratio(rate[w.title], rate[reference]),
			fmt.Sprintf("%.0f", stats.Median(perCPU[w.title])), ratio(perCPU[w.title], perCPU[reference]))
	}
	t.Write(b.out, true)
	return nil
}

// ratio is the typical ratio with its interval.
func ratio(x, y []float64) string {
	d := make([]float64, len(x))
	nothing := true
	for i := range x {
		d[i] = math.Log(x[i] / y[i])
		nothing = nothing && d[i] == 0
	}
	if nothing {
		return "1"
	}
	e, err := stats.SignedRank(d, 0.95)
	if err != nil { // too few rounds
		return fmt.Sprintf("%.3f (median)", math.Exp(stats.Median(d)))
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", math.Exp(e.Point), math.Exp(e.Lo), math.Exp(e.Hi))
}

// delays compares latencies with what the server knows. Each generator gets a server of its
// own, so that the server's times are of its requests alone.
func (b *bench) delays() error {
	const rate, connections = 1000, 64
	ways := []way{
		{"tare", "tare", task{Rate: rate, Connections: connections}}, {"tare, closed loop", "tare", task{Connections: 4}},
		{"fortio", "fortio", task{Rate: rate, Connections: connections}},
	}
	rounds := max(b.rounds/2, 1)
	t := &table.Table{Title: "Known delays", Head: []string{"generator", "median", "p90", "p99", "p99.9", "lag, median", "lag, p99"}}
	t.Note("The server waits for a time that it draws (log-normal about 5 ms) and notes how long each answer really took. Shown is how much "+
		"longer the generator's quantile is: %d requests/s over %d connections, or a closed loop of 4 workers; median of %d rounds of %v. "+
		"(wrk is not here: it adds latencies that it did not measure, to correct for its closed loop.)", rate, connections, rounds, 5*b.duration)
	more, lag := map[string][4][]float64{}, map[string][2][]float64{}
	for range rounds {
		if err := b.each(ways, func(w way) error {
			s, err := b.serve("delays")
			if err != nil {
				return err
			}
			f, err := b.generate(w.generator, task{URL: s.url + "/", Connections: w.Connections, Rate: w.Rate, Duration: 5 * b.duration})
			took := load.NewHistogram()
			if err := errors.Join(err, s.stop(took)); err != nil {
				return err
			}
			m, g := more[w.title], lag[w.title]
			for i, q := range quantiles {
				m[i] = append(m[i], f.At[i]/ms(took.At(q))-1)
			}
			for i := range g {
				g[i] = append(g[i], f.Lag[i])
			}
			more[w.title], lag[w.title] = m, g
			return nil
		}); err != nil {
			return err
		}
	}
	for _, w := range ways {
		row := []string{w.title}
		for _, m := range more[w.title] {
			row = append(row, fmt.Sprintf("%+.2f %%", 100*stats.Median(m)))
		}
		for _, g := range lag[w.title] {
			cell := ""
			if w.generator == "tare" && w.Rate > 0 {
				cell = fmt.Sprintf("%.3f ms", stats.Median(g))
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	t.Write(b.out, true)
	return nil
}

// stalls shows what becomes of a stall.
func (b *bench) stalls() error {
	const rate = 1000
	ways := []way{
		{"tare", "tare", task{Rate: rate}}, {"fortio", "fortio", task{Rate: rate}},
		{"tare, closed loop", "tare", task{}}, {"wrk, closed loop", "wrk", task{}},
	}
	duration := max(b.duration, 2*time.Second)
	t := &table.Table{Title: "A stall", Head: []string{"generator", "requests", "of at least 100 ms", "p99", "p99.9"}}
	t.Note("The server stands still once, for %v, in %v. At %d requests/s %.0f requests fall due in the first half of the stall, and wait for at "+
		"least half of it. 16 connections; Fortio does not catch up; one round. A closed loop has one request per connection in the stall, however long "+
		"that is. wrk makes up for that afterwards: it adds latencies as if requests had been sent at the mean rate that it reached, so its counts and "+
		"quantiles are not of requests that were sent.", stall, duration, rate, rate*(stall/2).Seconds())
	rows := map[string][]string{}
	if err := b.each(ways, func(w way) error {
		s, err := b.serve("stalls")
		if err != nil {
			return err
		}
		f, err := b.generate(w.generator, task{URL: s.url + "/", Connections: 16, Rate: w.Rate, Duration: duration})
		if err := errors.Join(err, s.stop(new(load.Histogram))); err != nil {
			return err
		}
		rows[w.title] = []string{w.title, fmt.Sprint(f.Requests), fmt.Sprint(f.Long), fmt.Sprintf("%.1f ms", f.At[2]), fmt.Sprintf("%.1f ms", f.At[3])}
		return nil
	}); err != nil {
		return err
	}
	for _, w := range ways {
		t.Add(rows[w.title]...)
	}
	t.Write(b.out, true)
	return nil
}
