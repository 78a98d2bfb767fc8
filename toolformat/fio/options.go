package fio

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Job options of fio are written as in its job files: names that have synonyms
// there are reported by the one they stand for.

// Option is an option of the job, or else of the [global] section.
func (r *Report) Option(j *Job, name string) string {
	return cmp.Or(j.Options[name], r.Options[name])
}

// Setting is an option by its own name or the other one that it has, written in one way wherever values mean the same:
// sizes as "4k", and what turns a limit off as no value at all.
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

// off are the settings that 0 turns off.
var off = map[string]bool{"rate_iops": true, "thinktime": true, "latency_target": true, "runtime": true, "ramp_time": true, "buffer_compress_percentage": true, "rate": true}

// number is an option that is a plain number; 0 where it is absent or none.
func (r *Report) number(j *Job, name string) float64 {
	n, err := strconv.ParseUint(r.Option(j, name), 10, 32)
	if err != nil {
		return 0
	}
	return float64(n)
}

// SmallBlock is up to which block size, in bytes, I/O per second are the headline,
// and from which on bandwidth is. With a fixed block size each is a multiple
// of the other and the comparison comes out the same: it is about which number people expect.
const SmallBlock = 32 << 10

// BlockSize is the size of one kind of I/O in bytes: as the options have it, or
// where they give none or several, the mean.
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

// parseSize reads a size as fio writes them: "4096", "4k", "1M", "1MiB". A kilobyte
// is 1024 bytes, unless the job turns that around (kb_base), which makes no
// difference to what the size is needed for.
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

// plainSize writes a size in the largest unit that it is a multiple of: "4096" and "4KiB" as "4k". What is no plain size
// stays as it is.
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

// synchronous are the engines that have one I/O under way at a time, whatever
// iodepth says.
var synchronous = map[string]bool{
	"sync": true, "psync": true, "vsync": true, "pvsync": true, "pvsync2": true, "mmap": true, "ftruncate": true,
	"filecreate": true, "filestat": true, "filedelete": true,
}

// Workers is how many I/Os the job keeps under way; 0: not told. Threads are those
// that the entry stands for: one, or numjobs of them where group_reporting has
// put them together, which only shows in that the entry is alone, without others
// of its name. Where the time that threads ran for says otherwise, jobs of several
// kinds were put together.
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
	case engine == "": // depends on the system that fio was built for
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

// Paced says that the job does not send as fast as it is answered.
func (r *Report) Paced(j *Job) bool {
	for _, name := range []string{"rate", "rate_iops", "rate_min", "thinktime", "latency_target"} {
		if value := r.Option(j, name); value != "" && value != "0" {
			return true
		}
	}
	return false
}
