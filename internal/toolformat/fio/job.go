package fio

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/toolformat/jsondoc"
)

// NamedWay holds the results for one kind of I/O, with its name: "read", "write", "trim" or "mixed".
type NamedWay struct {
	Name string
	*Way
}

// Ways returns the results for each kind of I/O that the job did.
func (j *Job) Ways() []NamedWay {
	var ways []NamedWay
	for _, w := range []NamedWay{{"read", j.Read}, {"write", j.Write}, {"trim", j.Trim}, {"mixed", j.Mixed}} {
		if w.Way != nil && w.Total > 0 {
			ways = append(ways, w)
		}
	}
	return ways
}

// Wall returns the duration of the job's I/O.
func (j *Job) Wall() time.Duration {
	longest := 0.0
	for _, w := range j.Ways() {
		longest = max(longest, w.Runtime)
	}
	return seconds(longest / 1e3)
}

// Failures returns the share of failed I/Os; known is false if the report lacks it. broken is the reason why the job is
// invalid; "" if it is valid. With continue_on_error, failures end no job.
func (j *Job) Failures() (share float64, known bool, broken string) {
	if j.TotalErrors == nil || j.Error != 0 && j.Error != j.FirstError {
		if j.Error != 0 {
			broken = fmt.Sprintf("fio reports that the job failed with error %g", j.Error)
			if meaning := meanings[j.Error]; meaning != "" {
				broken += " (" + meaning + ")"
			}
		}
		return 0, false, broken
	}
	issued := 0.0
	for _, w := range j.Ways() {
		issued += w.Total
	}
	if *j.TotalErrors < 0 || issued <= 0 {
		return 0, false, ""
	}
	return min(1, *j.TotalErrors/issued), true, ""
}

// meanings explains the error numbers of Linux with which fio often ends.
var meanings = map[float64]string{
	2:  "no such file",
	5:  "input/output error",
	12: "out of memory",
	13: "permission denied",
	22: "invalid argument, often direct=1 on a file system without it",
	28: "no space left on the device",
	84: "verification found other data than was written",
}

// Bandwidth returns the bandwidth in B/s. Before version 3.2, fio rounds it to KiB/s: it is then computed from bytes
// and run time, if known.
func (w *Way) Bandwidth() float64 {
	switch {
	case w.BytesRate > 0:
		return w.BytesRate
	case w.Runtime > 0:
		return w.Bytes / w.Runtime * 1e3
	}
	return w.KiBRate * 1024
}

// PerSecond returns the number of I/Os per second.
func (w *Way) PerSecond() float64 {
	if w.IOPS > 0 || w.Runtime == 0 {
		return w.IOPS
	}
	return w.Total / w.Runtime * 1e3
}

// Start returns the time when the job began; if the report lacks it, the time when the run began.
func (r *Report) Start(j *Job) time.Time {
	if at := jsondoc.Time(j.JobStart); !at.IsZero() || r.End.IsZero() {
		return at
	}
	return r.began(j)
}

// began returns the time when the run began. It is the end of the run minus the run time that the job reports.
func (r *Report) began(j *Job) time.Time { return r.End.Add(-seconds(j.Elapsed)) }

// seconds returns a duration of s seconds; 0 if s is not positive, or above ten years.
func seconds(s float64) time.Duration {
	const most = 10 * 365 * 24 * 3600
	if !(s > 0 && s < most) {
		return 0
	}
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// Option returns an option's value for a job, or else from the section [global]. name is the option's main name, even
// if the user wrote a synonym.
func (r *Report) Option(j *Job, name string) string { return cmp.Or(j.Options[name], r.Options[name]) }

// Setting returns an option's value in one form for equal values, such as "4k"; "": a limit is off. A missing direct is
// the opposite of buffered.
func (r *Report) Setting(j *Job, name string) string {
	value := r.Option(j, name)
	switch name {
	case "direct":
		return cmp.Or(value, map[string]string{"0": "1", "1": "0"}[r.Option(j, "buffered")])
	case "bs", "size", "io_size", "rate":
		value = plainSize(value)
	}
	if value == "0" && slices.Contains(off, name) {
		return ""
	}
	return value
}

// off lists the options for which the value 0 means "no limit" or "none".
var off = []string{"rate_iops", "thinktime", "latency_target", "runtime", "ramp_time", "buffer_compress_percentage", "rate"}

func (r *Report) number(j *Job, name string) float64 {
	n, err := strconv.ParseUint(r.Option(j, name), 10, 32)
	if err != nil {
		return 0
	}
	return float64(n)
}

// SmallBlock is the block size, in bytes, up to which the headline is I/Os per second. For larger blocks it is the
// bandwidth.
const SmallBlock = 32 << 10

// BlockSize returns the block size of a kind of I/O, such as write, in bytes; 0: unknown. It is the options' single
// size, or else the mean.
func (r *Report) BlockSize(j *Job, way string, w *Way) float64 {
	sizes := strings.Split(r.Option(j, "bs"), ",")
	place := map[string]int{"write": 1, "trim": 2}[way]
	if r.Option(j, "bssplit") == "" && r.Option(j, "bsrange") == "" {
		if size, ok := parseSize(sizes[min(place, len(sizes)-1)]); ok {
			return size
		}
	}
	if w.Total > 0 {
		return w.Bytes / w.Total
	}
	return 0
}

// parseSize reads a size as fio writes it: "4096", "4k", "1M", "1MiB". A kilobyte is 1024 bytes, even if a job defines
// it as 1000 (kb_base).
func parseSize(text string) (bytes float64, ok bool) {
	text = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(text), "b"), "i")
	factor := 1.0
	for unit, f := range map[string]float64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if number, found := strings.CutSuffix(text, unit); found {
			text, factor = number, f
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 32)
	return float64(n) * factor, err == nil && n > 0
}

// plainSize writes a size in the largest unit that gives a whole number: "4096" and "4KiB" become "4k". It returns a
// text that is no size unchanged.
func plainSize(text string) string {
	size, ok := parseSize(text)
	if !ok {
		return text
	}
	unit := ""
	for _, larger := range []string{"k", "m", "g"} {
		if math.Mod(size, 1024) != 0 {
			break
		}
		size, unit = size/1024, larger
	}
	return strconv.FormatFloat(size, 'f', -1, 64) + unit
}

// synchronous lists the engines that do one I/O at a time. They ignore the iodepth.
var synchronous = []string{"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "ftruncate", "filecreate", "filestat", "filedelete"}

// Workers returns the number of I/Os that the job keeps in flight; 0: unknown, or the entry merges different jobs.
// alone is true if no other entry has the job's name: this entry then has all threads (numjobs).
func (r *Report) Workers(j *Job, alone bool) float64 {
	threads := 1.0
	if alone {
		threads = max(1, r.number(j, "numjobs"))
	}
	if wall := float64(j.Wall().Milliseconds()); j.Runtime > 0 && wall > 0 && math.Abs(j.Runtime/wall-threads) > 0.5 {
		return 0
	}
	engine, depth := r.Option(j, "ioengine"), j.Depth
	if depth <= 0 {
		depth = max(1, r.number(j, "iodepth"))
	}
	switch {
	case slices.Contains(synchronous, engine) || depth == 1:
		return threads
	case engine == "": // no engine is given: fio's default, and so the load, depends on fio's system
		return 0
	}
	return threads * depth
}

// Paced reports whether the job pauses between I/Os or limits its rate. Its load is then no closed loop, in which
// workers never pause.
func (r *Report) Paced(j *Job) bool {
	return slices.ContainsFunc([]string{"rate", "rate_iops", "rate_min", "thinktime", "latency_target"}, func(name string) bool {
		value := r.Option(j, name)
		return value != "" && value != "0"
	})
}
