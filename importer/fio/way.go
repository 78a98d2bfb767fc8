package fio

import (
	"fmt"
	"strconv"

	"tare/experiment"
	"tare/importer"
	"tare/toolformat/fio"
)

func (d *draft) add(w fio.NamedWay) {
	// "mixed" repeats the others, where they are told too.
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

func (d *draft) sync() {
	if s := d.job.Sync; s != nil && len(d.ways) > 0 {
		d.latency("sync-latency", s.Whole.Mean)
		d.distribution("sync-", s.Total, &s.Whole)
	}
}

// latency adds one in nanoseconds.
func (d *draft) latency(name string, ns float64) {
	d.AddFit(importer.Ratio(name, "s", experiment.Lower, false), ns/1e9)
}

// percentiles are those that are imported, if the report has them.
var percentiles = []float64{50, 90, 95, 99, 99.9}

// distribution adds percentiles and the histogram. A percentile that fewer than
// one I/O lies beyond is the maximum by another name.
func (d *draft) distribution(prefix string, total float64, l *fio.Latency) {
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
	if h, ok := histogram(l, prefix+"latency"); ok {
		d.Histograms = append(d.Histograms, h)
	}
}

// histogram gives the bins in seconds, if there are any and they are such as fio writes.
func histogram(l *fio.Latency, name string) (importer.Histogram, bool) {
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
		lower, upper := fio.BinBounds(b.Key)
		h.Lower, h.Upper, h.Count = append(h.Lower, lower/1e9), append(h.Upper, upper/1e9), append(h.Count, int64(b.Value))
	}
	return h, len(l.Bins) > 0
}
