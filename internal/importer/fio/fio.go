// Package fio makes trials of the JSON reports of fio 3.x: --output-format=json and json+.
//
// Each job is a cell. The metrics are the bandwidth and IOPS of each kind of I/O, latencies and their percentiles, and
// CPU time. The headline is IOPS for small blocks and bandwidth for large blocks. Jobs without a stonewall between them
// run at the same time, on the same disk. A fact gives the number of such concurrent jobs.
//
// fio measures three latencies: submission (slat), completion (clat) and their sum (lat). In names of metrics,
// "latency" means completion, and "total-latency" means the sum.
package fio

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/importer"
	"tare/internal/toolformat/fio"
)

// Format reads reports of fio.
var Format = importer.Format{
	Name:       "fio",
	Doc:        "reports of fio 3.x in JSON (--output-format=json or json+)",
	Extensions: []string{".json", ".txt", ".log", ".out"},
	Settings:   Settings,
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	report, err := fio.Parse(importer.Bound(f, importer.Limit, "the file"))
	if err != nil {
		return nil, err
	}
	return Trials(report), nil
}

// groups holds numbers: of jobs by fio's group number, of jobs by clone, and of cells by name.
type groups struct {
	together map[float64]int // the number of jobs that run at the same time, by fio's group number; 0: unknown
	clones   map[clone]int
	cells    map[string]int // the number of cells so far, by name
}

type clone struct {
	group float64
	name  string
}

// allClients is the name of the entry that fio adds for the sum over several servers.
const allClients = "All clients"

// group counts the jobs that fio starts at once; a stonewall begins a new group. The number is 0 (unknown) if a job
// waits for a time or for another job.
func group(r *fio.Report) *groups {
	g := &groups{together: map[float64]int{}, clones: map[clone]int{}, cells: map[string]int{}}
	waits := map[float64]bool{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		g.clones[clone{j.Group, j.Name}]++
		if j.Name != allClients {
			g.together[j.Group]++
		}
		if r.Option(j, "startdelay") != "" || r.Option(j, "wait_for") != "" {
			waits[j.Group] = true
		}
	}
	for group := range waits {
		g.together[group] = 0
	}
	return g
}

// cell returns the name of a job's cell, which is unique in the report.
func (g *groups) cell(j *fio.Job) string {
	name := j.Name
	if strings.TrimSpace(name) == "" {
		name = "job"
	}
	for g.cells[name]++; g.cells[name] > 1; g.cells[name]++ {
		name += "-" + strconv.Itoa(g.cells[name])
	}
	return name
}

// Trials returns one trial for each job of the report, in order. A number distinguishes jobs of the same name.
func Trials(r *fio.Report) []importer.Trial {
	g := group(r)
	trials := make([]importer.Trial, len(r.Jobs))
	for i := range r.Jobs {
		trials[i] = trial(r, &r.Jobs[i], g)
	}
	return trials
}

func trial(r *fio.Report, j *fio.Job, g *groups) importer.Trial {
	t := importer.Trial{Cell: g.cell(j), Kind: "storage", Start: r.Start(j), Wall: j.Wall(), Facts: facts(r, j, g)}
	t.Errors.Share, t.Errors.Known, t.Broken = j.Failures()
	if t.Broken != "" {
		return t
	}
	d := draft{Trial: &t, report: r, job: j}
	for _, way := range j.Ways() {
		d.add(way)
	}
	if s := j.Sync; s != nil && len(d.ways) > 0 {
		d.latency("sync-latency", s.Whole.Mean)
		d.distribution("sync-", s.Total, &s.Whole)
	}
	d.cpu()
	if len(d.ways) == 0 {
		t.Broken = "the job did no I/O that took measurable time"
	}
	t.Loop = d.loop(g.clones[clone{j.Group, j.Name}] == 1)
	return t
}

func facts(r *fio.Report, j *fio.Job, g *groups) map[string]string {
	facts := map[string]string{"fio version": strings.TrimPrefix(r.Version, "fio-")}
	for _, s := range Settings {
		facts[s.Name] = r.Setting(j, s.Name)
	}
	if j.Depth > 0 {
		facts["iodepth"] = strconv.FormatFloat(j.Depth, 'g', -1, 64)
	}
	if reduced := r.Option(j, "gtod_reduce"); reduced != "" && reduced != "0" {
		facts["latency"] = "not measured: gtod_reduce=" + reduced
	}
	if n := g.together[j.Group]; n > 1 && j.Name != allClients {
		facts[concurrent] = fmt.Sprintf("%d, which share the disk: no stonewall between them", n)
	}
	return facts
}

// concurrent is the name of the fact that counts the jobs that used the disk at the same time.
const concurrent = "concurrent jobs"

// Settings are the options that describe the work of a job, with fio's defaults.
var Settings = []importer.Setting{
	{Name: "rw", Default: "read"}, {Name: "rwmixread", Default: "50"},
	{Name: "bs", Default: "4k"}, {Name: "bsrange", Default: "none"}, {Name: "bssplit", Default: "none"},
	{Name: "size", Default: "default"}, {Name: "io_size", Default: "default"}, {Name: "runtime", Default: "none"}, {Name: "ramp_time", Default: "none"},
	{Name: "ioengine", Default: "default"}, {Name: "iodepth", Default: "1"}, {Name: "numjobs", Default: "1"}, {Name: concurrent, Default: "1"},
	{Name: "direct", Default: "0"}, {Name: "sync", Default: "0"}, {Name: "fsync", Default: "0"}, {Name: "fdatasync", Default: "0"}, {Name: "end_fsync", Default: "0"},
	{Name: "rate", Default: "none"}, {Name: "rate_iops", Default: "none"}, {Name: "thinktime", Default: "none"}, {Name: "latency_target", Default: "none"},
	{Name: "random_distribution", Default: "random"}, {Name: "buffer_compress_percentage", Default: "none"},
}

type draft struct {
	*importer.Trial
	report *fio.Report
	job    *fio.Job
	ways   []string // kinds of I/O, such as "read", for which the report has values
	bytes  float64
}

// cpu adds the CPU time of fio's own threads. It lacks kernel work for these threads elsewhere, such as in the workers
// of dm-crypt.
func (d *draft) cpu() {
	j := d.job
	if d.bytes > 0 {
		d.AddFit(importer.Ratio("cpu", "s/GB", experiment.Lower, false), (j.UserCPU+j.SystemCPU)/100*j.Runtime/1e3/(d.bytes/1e9))
	}
	d.AddFit(importer.Ratio("cpu-user", "CPU", experiment.Lower, false), j.UserCPU/100)
	d.AddFit(importer.Ratio("cpu-system", "CPU", experiment.Lower, false), j.SystemCPU/100)
}

// loop returns the closed loop of a job that does one kind of I/O without pauses; nil for other jobs. It prefers
// total-latency to the completion latency.
func (d *draft) loop(alone bool) *experiment.Loop {
	if len(d.ways) != 1 || d.report.Paced(d.job) {
		return nil
	}
	has := func(name string) bool {
		return slices.ContainsFunc(d.Values, func(v importer.Value) bool { return v.Metric.Name == name })
	}
	throughput := d.ways[0] + "-iops"
	for _, latency := range []string{d.ways[0] + "-total-latency", d.ways[0] + "-latency"} {
		if has(latency) && has(throughput) {
			return &experiment.Loop{Latency: latency, Throughput: throughput, Workers: d.report.Workers(d.job, alone)}
		}
	}
	return nil
}

func (d *draft) add(w fio.NamedWay) {
	// The kind "mixed" sums up the other kinds of I/O, such as reads and writes. It is a headline only if the report
	// has no other kind.
	headline := w.Name != "mixed" || len(d.ways) == 0
	small := d.report.BlockSize(d.job, w.Name, w.Way) <= fio.SmallBlock
	bandwidth := d.AddFit(importer.Ratio(w.Name+"-bandwidth", "B/s", experiment.Higher, headline && !small), w.Bandwidth())
	iops := d.AddFit(importer.Ratio(w.Name+"-iops", "1/s", experiment.Higher, headline && small), w.PerSecond())
	if !bandwidth && !iops {
		return
	}
	d.ways = append(d.ways, w.Name)
	if w.Name != "mixed" || headline {
		d.bytes += w.Bytes
	}
	d.latency(w.Name+"-latency", w.Complete.Mean)
	d.latency(w.Name+"-total-latency", w.Whole.Mean)
	if w.Complete.Known() || !w.Whole.Known() {
		d.distribution(w.Name+"-", w.Total, &w.Complete)
	} else {
		d.distribution(w.Name+"-total-", w.Total, &w.Whole)
	}
}

func (d *draft) latency(name string, ns float64) {
	d.AddFit(importer.Ratio(name, "s", experiment.Lower, false), ns/1e9)
}

// distribution adds percentiles and the histogram of fio's latencies. A percentile with less than one I/O above it is
// just the maximum, and is left out.
func (d *draft) distribution(prefix string, total float64, l *fio.Latency) {
	count := cmp.Or(l.Samples(), total) // versions before fio 3.18 report no number of samples
	for _, p := range []float64{50, 90, 95, 99, 99.9} {
		ns, ok := l.Quantile(p)
		if ok && count*(100-p) >= 100 {
			d.latency(fmt.Sprintf("%sp%s", prefix, strconv.FormatFloat(p, 'f', -1, 64)), ns)
		}
	}
	if h, ok := histogram(l, prefix+"latency"); ok {
		d.Histograms = append(d.Histograms, h)
	}
}

// histogram returns the bins, converted to seconds. It returns false if there are no bins, or if their numbers are not
// in ascending order or not exact.
func histogram(l *fio.Latency, name string) (importer.Histogram, bool) {
	h := importer.Histogram{Name: name, Unit: "s"}
	last := -1.0
	for _, b := range l.Bins {
		const exact = 1 << 53 // larger whole numbers are not exact as floats
		if !(b.Key > last && b.Key < exact && b.Value >= 0 && b.Value < exact) {
			return h, false
		}
		last = b.Key
		lower, upper := fio.BinBounds(b.Key)
		h.Add(lower/1e9, upper/1e9, int64(b.Value))
	}
	return h, len(l.Bins) > 0
}
