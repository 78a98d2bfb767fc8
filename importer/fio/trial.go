package fio

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/experiment"
	"tare/importer"
)

// Trials gives one trial for each job of the report, in order. Jobs of the same
// name are told apart by a number.
func (r *Report) Trials() []importer.Trial {
	g := r.group()
	trials := make([]importer.Trial, 0, len(r.Jobs))
	for i := range r.Jobs {
		trials = append(trials, r.trial(&r.Jobs[i], g))
	}
	return trials
}

func (r *Report) trial(j *Job, g *groups) importer.Trial {
	t := importer.Trial{
		Cell:  g.cell(j),
		Kind:  "storage",
		Start: r.start(j),
		Wall:  seconds(j.wall() / 1e3),
		Facts: r.facts(j, g),
	}
	t.Errors, t.Broken = j.Failures()
	if t.Broken != "" {
		return t
	}
	d := draft{Trial: &t, report: r, job: j}
	for _, way := range j.ways() {
		d.add(way)
	}
	d.sync()
	d.cpu()
	if len(d.ways) == 0 {
		t.Broken = "the job did no I/O that took measurable time"
	}
	t.Loop = d.loop(g.alone(j))
	return t
}

// start is when the job began, or as near as the report tells: when the run did.
func (r *Report) start(j *Job) time.Time {
	if at := moment(j.JobStart); !at.IsZero() || r.End.IsZero() {
		return at
	}
	return r.began(j)
}

// began is when the run did, of which a job tells how long it took so far.
func (r *Report) began(j *Job) time.Time { return r.End.Add(-seconds(j.Elapsed)) }

// seconds is a duration; 0 if the number cannot be one of a benchmark.
func seconds(s float64) time.Duration {
	const most = 10 * 365 * 24 * 3600
	if !(s > 0 && s < most) {
		return 0
	}
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// wall is how long the job did I/O, in ms.
func (j *Job) wall() float64 {
	longest := 0.0
	for _, w := range j.ways() {
		longest = max(longest, w.Runtime)
	}
	return longest
}

// Failures gives the share of failed I/Os, and why the job is no data if it is
// none. With continue_on_error fio goes on and counts.
func (j *Job) Failures() (importer.ErrorRate, string) {
	if j.TotalErrors == nil || j.Error != 0 && j.Error != j.FirstError {
		if j.Error != 0 {
			return importer.ErrorRate{}, fmt.Sprintf("fio reports that the job failed with error %g%s", j.Error, meaning(j.Error))
		}
		return importer.ErrorRate{}, ""
	}
	issued := 0.0
	for _, w := range j.ways() {
		issued += w.Total
	}
	if *j.TotalErrors < 0 || issued <= 0 {
		return importer.ErrorRate{}, ""
	}
	return importer.ErrorRate{Share: min(1, *j.TotalErrors/issued), Known: true}, ""
}

// meaning explains the error numbers, Linux's, that fio usually ends with.
func meaning(errno float64) string {
	text := map[float64]string{
		2:  "no such file",
		5:  "input/output error",
		12: "out of memory",
		13: "permission denied",
		22: "invalid argument, often direct=1 on a file system without it",
		28: "no space left on the device",
		84: "verification found other data than was written",
	}[errno]
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// facts are the versions and options that one has to know to compare.
func (r *Report) facts(j *Job, g *groups) map[string]string {
	facts := map[string]string{"fio version": strings.TrimPrefix(r.Version, "fio-")}
	for _, name := range []string{"ioengine", "rw", "bs", "numjobs", "direct", "size", "rate", "rate_iops"} {
		facts[name] = r.option(j, name)
	}
	if j.Depth > 0 {
		facts["iodepth"] = strconv.FormatFloat(j.Depth, 'g', -1, 64)
	} else {
		facts["iodepth"] = r.option(j, "iodepth")
	}
	if reduced := r.option(j, "gtod_reduce"); reduced != "" && reduced != "0" {
		facts["latency"] = "not measured: gtod_reduce=" + reduced
	}
	if n := g.together[j.Group]; n > 1 && j.Name != allClients {
		facts["concurrent jobs"] = fmt.Sprintf("%d, which share the disk: no stonewall between them", n)
	}
	for name, value := range facts {
		if value == "" {
			delete(facts, name)
		}
	}
	return facts
}

// draft is a trial whose values are being added.
type draft struct {
	*importer.Trial
	report *Report
	job    *Job
	ways   []string // that have values
	bytes  float64
}

// value adds a value, unless it is none.
func (d *draft) value(name, unit string, better experiment.Better, headline bool, v float64) bool {
	if !(v > 0) || math.IsInf(v, 0) {
		return false
	}
	d.Values = append(d.Values, importer.Value{Value: v, Metric: experiment.Metric{
		Name: name, Unit: unit, Better: better, Headline: headline, Scale: experiment.Ratio, Optional: !headline,
	}})
	return true
}

// cpu adds what fio's own threads used. What the kernel does for them elsewhere,
// in the workers of dm-crypt for instance, is not in it.
func (d *draft) cpu() {
	j := d.job
	if d.bytes > 0 {
		d.value("cpu", "s/GB", experiment.Lower, false, (j.UserCPU+j.SystemCPU)/100*j.Runtime/1e3/(d.bytes/1e9))
	}
	d.value("cpu-user", "CPU", experiment.Lower, false, j.UserCPU/100)
	d.value("cpu-system", "CPU", experiment.Lower, false, j.SystemCPU/100)
}

// loop ties latency and IOPS of a job that does one kind of I/O as fast as it is
// answered. Little's law counts from submission on.
func (d *draft) loop(alone bool) *experiment.Loop {
	if len(d.ways) != 1 || d.report.paced(d.job) {
		return nil
	}
	has := map[string]bool{}
	for _, v := range d.Values {
		has[v.Metric.Name] = true
	}
	throughput := d.ways[0] + "-iops"
	for _, latency := range []string{d.ways[0] + "-total-latency", d.ways[0] + "-latency"} {
		if has[latency] && has[throughput] {
			return &experiment.Loop{Latency: latency, Throughput: throughput, Workers: d.report.workers(d.job, alone)}
		}
	}
	return nil
}
