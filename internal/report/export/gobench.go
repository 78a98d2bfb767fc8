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

	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

// goBench writes the valid trials of a run in the Go benchmark format (https://go.dev/design/14313-benchmark-format),
// one line for each trial:
//
//	BenchmarkNetwork.tcp/arm=wireguard/workload=network 1 9.1e+08 tcp-bandwidth-bit/s 0.00042 tcp-rtt-sec
//
// The command benchstat -col /arm compares the arms. benchstat takes the trials as independent samples, and so
// detects less than Tare, whose rounds are pairs. benchstat does not correct for the number of comparisons.
//
// A unit is the metric's name and its unit of measurement, since all values of one line need different units. Unit
// lines state which direction is better. The number of iterations is 1, because a trial is one measurement.
func goBench(w io.Writer, r Run) error {
	out := bufio.NewWriter(w)
	for _, c := range configuration(r) {
		fmt.Fprintf(out, "%s: %s\n", c[0], c[1])
	}
	fmt.Fprintln(out)
	known := map[string]bool{}
	for _, c := range r.Record.Plan.Cells {
		for _, m := range c.Metrics {
			if u := unit(m); !known[u] {
				known[u] = true
				fmt.Fprintf(out, "Unit %s better=%s\n", u, m.Better)
			}
		}
	}
	fmt.Fprintln(out)

	first := benchmarkNames(r.Record.Plan.Cells)
	for _, a := range r.Record.Plan.Arms { // the baseline first: benchstat compares with the first arm
		for i := range r.Record.Trials {
			t := &r.Record.Trials[i]
			c := r.Record.Plan.Cell(t.Cell)
			if t.Arm != a.Name || !t.Valid() || c == nil {
				continue
			}
			values := ""
			for _, m := range c.Metrics {
				if v, known := t.Values[m.Name]; known {
					values += " " + number(v) + " " + unit(m)
				}
			}
			if values != "" {
				fmt.Fprintf(out, "%s 1%s\n", benchmark(first[c.ID], c, a), values)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write go benchmark results: %w", err)
	}
	return nil
}

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

// benchmark returns the benchmark name of an arm in a cell. The workload's kind comes last, since Go reads a number
// behind a final dash as the number of processors.
func benchmark(beginning string, c *experiment.Cell, a experiment.PlannedArm) string {
	name := "Benchmark" + beginning + "/arm=" + escape(a.Name)
	for _, l := range c.Levels {
		name += "/" + escape(l.Factor) + "=" + escape(l.Value)
	}
	return name + "/workload=" + escape(c.Kind)
}

// benchmarkNames returns, for each cell ID, the name behind the word Benchmark. Go requires a capital first. A small
// letter becomes "%72" if it has no capital, or if cells "read" and "Read" exist.
func benchmarkNames(cells []experiment.Cell) map[string]string {
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

func capital(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	if !unicode.IsLower(first) {
		return name
	}
	return string(unicode.ToUpper(first)) + name[size:]
}

// unit returns a metric and its unit in Go's notation: "p99-sec", "rtt-sec/op".
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

// escape encodes one part of a benchmark name by percent signs, as in URLs: a space or slash would end the part.
// Different names stay different.
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

func percent(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		fmt.Fprintf(&out, "%%%02X", b)
	}
	return out.String()
}
