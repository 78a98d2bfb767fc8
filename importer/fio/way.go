package fio

import (
	"fmt"
	"strconv"

	"tare/experiment"
	"tare/importer"
)

// namedWay is a kind of I/O with its name.
type namedWay struct {
	name string
	*Way
}

// ways are the kinds of I/O that the job did any of.
func (j *Job) ways() []namedWay {
	var ways []namedWay
	for _, w := range []namedWay{{"read", j.Read}, {"write", j.Write}, {"trim", j.Trim}, {"mixed", j.Mixed}} {
		if w.Way != nil && w.Total > 0 {
			ways = append(ways, w)
		}
	}
	return ways
}

// SmallBlock is up to which block size, in bytes, I/O per second are the headline,
// and from which on bandwidth is. With a fixed block size each is a multiple
// of the other and the comparison comes out the same: it is about which number people expect.
const SmallBlock = 32 << 10

// add adds the metrics of one kind of I/O.
func (d *draft) add(w namedWay) {
	// "mixed" repeats the others, where they are told too.
	headline := w.name != "mixed" || len(d.ways) == 0
	small := d.report.blockSize(d.job, w.name, w.Way) <= SmallBlock
	bandwidth := d.value(w.name+"-bandwidth", "B/s", experiment.Higher, headline && !small, w.Bandwidth())
	iops := d.value(w.name+"-iops", "1/s", experiment.Higher, headline && small, w.iops())
	if !bandwidth && !iops {
		return
	}
	d.ways = append(d.ways, w.name)
	if w.name != "mixed" || headline {
		d.bytes += w.Bytes
	}
	d.latency(w.name+"-latency", w.Complete.Mean)
	d.latency(w.name+"-total-latency", w.Whole.Mean)
	if w.Complete.any() || !w.Whole.any() {
		d.distribution(w.name+"-", w.Total, &w.Complete)
	} else {
		d.distribution(w.name+"-total-", w.Total, &w.Whole)
	}
}

// sync adds how long fsync and its like took.
func (d *draft) sync() {
	if s := d.job.Sync; s != nil && len(d.ways) > 0 {
		d.latency("sync-latency", s.Whole.Mean)
		d.distribution("sync-", s.Total, &s.Whole)
	}
}

// Bandwidth is in B/s. The report has it in KiB/s only before fio 3.2.
func (w *Way) Bandwidth() float64 {
	switch {
	case w.BytesRate > 0:
		return w.BytesRate
	case w.Runtime > 0:
		return w.Bytes / w.Runtime * 1e3
	}
	return w.KiBRate * 1024
}

func (w *Way) iops() float64 {
	if w.IOPS > 0 || w.Runtime == 0 {
		return w.IOPS
	}
	return w.Total / w.Runtime * 1e3
}

// latency adds one in nanoseconds.
func (d *draft) latency(name string, ns float64) {
	d.value(name, "s", experiment.Lower, false, ns/1e9)
}

// percentiles are those that are imported, if the report has them.
var percentiles = []float64{50, 90, 95, 99, 99.9}

// distribution adds percentiles and the histogram. A percentile that fewer than
// one I/O lies beyond is the maximum by another name.
func (d *draft) distribution(prefix string, total float64, l *Latency) {
	count := l.Samples()
	if count == 0 {
		count = total // before fio 3.18
	}
	for _, p := range percentiles {
		ns, ok := l.Quantile(p)
		if ok && count*(100-p) >= 100 {
			d.latency(fmt.Sprintf("%sp%s", prefix, strconv.FormatFloat(p, 'f', -1, 64)), ns)
		}
	}
	if h, ok := l.histogram(prefix + "latency"); ok {
		d.Histograms = append(d.Histograms, h)
	}
}

// any says whether anything of the distribution is told.
func (l *Latency) any() bool { return len(l.Percentiles) > 0 || len(l.Bins) > 0 }

// histogram gives the bins in seconds, if there are any and they are such as fio writes.
func (l *Latency) histogram(name string) (importer.Histogram, bool) {
	h := importer.Histogram{
		Name: name, Unit: "s",
		Lower: make([]float64, 0, len(l.Bins)), Upper: make([]float64, 0, len(l.Bins)), Count: make([]int64, 0, len(l.Bins)),
	}
	last := -1.0
	for _, b := range l.Bins {
		const exact = 1 << 53 // whole numbers, as floats
		if !(b.Key > last && b.Key < exact && b.Value >= 0 && b.Value < exact) {
			return h, false
		}
		last = b.Key
		lower, upper := binBounds(b.Key)
		h.Lower, h.Upper, h.Count = append(h.Lower, lower/1e9), append(h.Upper, upper/1e9), append(h.Count, int64(b.Value))
	}
	return h, len(l.Bins) > 0
}
