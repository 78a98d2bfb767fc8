package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tare/experiment"
	"tare/safetext"
	"tare/wording"
)

// GoBench writes the valid trials of a run in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), one line for each:
//
//	BenchmarkNetwork.tcp/arm=wireguard/workload=network 1 9.1e+08 tcp-bandwidth-bit/s 0.00042 tcp-rtt-sec
//
// benchstat -col /arm compares the arms. It takes the two samples for independent
// and so sees less than Tare does, whose rounds are pairs; and it corrects for no
// number of comparisons.
//
// A unit is that of Go: the metric and what it is measured in, since results of
// one line must differ in their unit. Unit lines tell which direction is better.
// The number of iterations is 1: a trial is one measurement.
func GoBench(w io.Writer, r Run) error {
	out := bufio.NewWriter(w)
	for _, c := range configuration(r) {
		fmt.Fprintf(out, "%s: %s\n", c[0], c[1])
	}
	fmt.Fprintln(out)
	for _, m := range metrics(r.Record.Plan) {
		fmt.Fprintf(out, "Unit %s better=%s\n", unit(m), m.Better)
	}
	fmt.Fprintln(out)

	first := beginnings(r.Record.Plan.Cells)
	for _, a := range r.Record.Plan.Arms { // benchstat compares with the first that it meets
		names, metricsOf := map[string]string{}, map[string][]experiment.Metric{}
		for _, c := range r.Record.Plan.Cells {
			names[c.ID], metricsOf[c.ID] = benchmark(first[c.ID], c, a), c.Metrics
		}
		for i := range r.Record.Trials {
			t := &r.Record.Trials[i]
			if t.Arm != a.Name || !t.Valid() {
				continue
			}
			values := ""
			for _, m := range metricsOf[t.Cell] {
				if v, known := t.Values[m.Name]; known {
					values += " " + number(v) + " " + unit(m)
				}
			}
			if values != "" {
				fmt.Fprintf(out, "%s 1%s\n", names[t.Cell], values)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write go benchmark results: %w", err)
	}
	return nil
}

// configuration is what all results have in common, as keys and values.
func configuration(r Run) [][2]string {
	plan := r.Record.Plan
	all := [][2]string{{"run", plan.Name}, {"directory", directory(r.Record.Dir)}, {"testbed", plan.Testbed}, {"tare", plan.Version}}
	if e := r.Record.Environment; e != nil {
		all = append(all, [2]string{"kernel", e.Kernel}, [2]string{"cpu", e.CPU.Model})
	}
	if o := wording.Observation(r.Analysis.Observation); o != "" {
		all = append(all, [2]string{"observational", o})
	}
	if lost := len(r.Analysis.Invalids); lost > 0 {
		all = append(all, [2]string{"invalid-trials-left-out", strconv.Itoa(lost)})
	}
	for i := range all {
		all[i][1] = safetext.Line(all[i][1])
	}
	return slices.DeleteFunc(all, func(c [2]string) bool { return c[1] == "" })
}

// metrics are those of all cells, each once.
func metrics(p *experiment.Plan) []experiment.Metric {
	var all []experiment.Metric
	for _, c := range p.Cells {
		for _, m := range c.Metrics {
			if !slices.ContainsFunc(all, func(known experiment.Metric) bool { return unit(known) == unit(m) }) {
				all = append(all, m)
			}
		}
	}
	return all
}

// benchmark is the name of the results of an arm in a cell, which begins as
// beginnings has it. The workload's kind comes last, since a number behind a dash
// at the end of a name is the number of processors to Go.
func benchmark(beginning string, c experiment.Cell, a experiment.PlannedArm) string {
	name := "Benchmark" + beginning + "/arm=" + escape(a.Name)
	for _, l := range c.Levels {
		name += "/" + escape(l.Factor) + "=" + escape(l.Value)
	}
	return name + "/workload=" + escape(c.Kind)
}

// beginnings are the names of cells, by their IDs, as they stand behind the word
// Benchmark: with a capital, since what goes on with a small letter is no benchmark
// to Go. Where that would make one of two cells, "read" and "Read", or where there
// is no capital, a small letter is written by its bytes: "%72ead".
func beginnings(cells []experiment.Cell) map[string]string {
	alike := map[string]int{}
	for _, c := range cells {
		alike[capital(c.ID)]++
	}
	all := map[string]string{}
	for _, c := range cells {
		first, size := utf8.DecodeRuneInString(c.ID)
		upper := capital(c.ID)
		switch {
		case !unicode.IsLower(first):
			all[c.ID] = escape(c.ID)
		case alike[upper] > 1 || upper == c.ID:
			all[c.ID] = percent(c.ID[:size]) + escape(c.ID[size:])
		default:
			all[c.ID] = escape(upper)
		}
	}
	return all
}

// capital is a name with its first letter as a capital, where it has one.
func capital(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	if !unicode.IsLower(first) {
		return name
	}
	return string(unicode.ToUpper(first)) + name[size:]
}

// unit names a metric and its unit the way Go does: "p99-sec", "rtt-sec/op".
func unit(m experiment.Metric) string {
	u := m.Unit
	if u == "s" || strings.HasPrefix(u, "s/") {
		u = "sec" + u[1:]
	}
	if u == "" {
		return strings.ReplaceAll(escape(m.Name), "%2F", "/")
	}
	return strings.ReplaceAll(escape(m.Name+"-"+u), "%2F", "/")
}

// escape makes one part of a name, in which blanks and slashes would end it, so
// that different names stay different: as in URLs, by percent signs.
func escape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r == '%' || r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			out.WriteString(percent(s[i : i+size]))
		} else {
			out.WriteString(s[i : i+size])
		}
		i += size
	}
	return out.String()
}

// percent writes bytes as URLs have those that they cannot hold.
func percent(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		fmt.Fprintf(&out, "%%%02X", b)
	}
	return out.String()
}
