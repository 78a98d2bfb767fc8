package fio

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Options of jobs have their names in job files. A synonym is reported under the name that it stands for.

// Option returns an option of the job, or else of the [global] section.
func (r *Report) Option(j *Job, name string) string {
	return cmp.Or(j.Options[name], r.Options[name])
}

// Setting returns an option, also by its synonym, in a form that is the same for equal values: sizes as "4k",
// and "" for a value that turns a limit off.
func (r *Report) Setting(j *Job, name string) string {
	value := r.Option(j, name)
	switch name {
	case "direct":
		if value == "" {
			value = map[string]string{"0": "1", "1": "0"}[r.Option(j, "buffered")]
		}
	case "bs", "size", "io_size", "rate":
		value = plainSize(value)
	}
	if value == "0" && off[name] {
		return ""
	}
	return value
}

// off are the options that the value 0 turns off.
var off = map[string]bool{"rate_iops": true, "thinktime": true, "latency_target": true, "runtime": true, "ramp_time": true, "buffer_compress_percentage": true, "rate": true}

// number returns an option as a number; 0 if it is absent or no number.
func (r *Report) number(j *Job, name string) float64 {
	n, err := strconv.ParseUint(r.Option(j, name), 10, 32)
	if err != nil {
		return 0
	}
	return float64(n)
}

// SmallBlock is a block size in bytes. Up to it, the headline is I/O per second; above it, bandwidth. With a
// fixed block size, each is a multiple of the other and a comparison gives the same result, so that the choice
// only meets people's expectations.
const SmallBlock = 32 << 10

// BlockSize returns the size of one kind of I/O, in bytes: the block size in the options, or the mean if they
// have none or several.
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

// parseSize reads a size in fio's forms: "4096", "4k", "1M", "1MiB". A kilobyte is 1024 bytes. A job can
// redefine it (kb_base), but this does not matter for the use of these sizes.
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

// plainSize writes a size in the largest unit that divides it: "4096" and "4KiB" as "4k". Other texts stay as
// they are.
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

// synchronous are the engines that have one I/O in flight at a time, with any iodepth.
var synchronous = map[string]bool{
	"sync": true, "psync": true, "vsync": true, "pvsync": true, "pvsync2": true, "mmap": true, "ftruncate": true,
	"filecreate": true, "filestat": true, "filedelete": true,
}

// Workers returns the number of I/Os that the job keeps in flight; 0: unknown. It counts the threads behind an
// entry of the report: one, or numjobs of them if group_reporting merged them. Merged threads show only in that
// no other entry has the job's name (alone). If the threads' run time contradicts this, jobs of several kinds
// were merged.
func (r *Report) Workers(j *Job, alone bool) float64 {
	threads := 1.0
	if alone {
		threads = max(1, r.number(j, "numjobs"))
	}
	if wall := float64(j.Wall().Milliseconds()); j.Runtime > 0 && wall > 0 && math.Abs(j.Runtime/wall-threads) > 0.5 {
		return 0
	}
	engine := r.Option(j, "ioengine")
	depth := r.depth(j)
	switch {
	case synchronous[engine] || depth == 1:
		return threads
	case engine == "": // the default engine depends on the system that fio was built for
		return 0
	}
	return threads * depth
}

func (r *Report) depth(j *Job) float64 {
	if j.Depth > 0 {
		return j.Depth
	}
	return max(1, r.number(j, "iodepth"))
}

// Paced reports whether the job pauses between I/Os, and so is no closed loop.
func (r *Report) Paced(j *Job) bool {
	for _, name := range []string{"rate", "rate_iops", "rate_min", "thinktime", "latency_target"} {
		if value := r.Option(j, name); value != "" && value != "0" {
			return true
		}
	}
	return false
}
