package fio

import (
	"fmt"
	"time"
)

// NamedWay is a kind of I/O with its name.
type NamedWay struct {
	Name string
	*Way
}

// Ways are the kinds of I/O that the job did any of.
func (j *Job) Ways() []NamedWay {
	var ways []NamedWay
	for _, w := range []NamedWay{{"read", j.Read}, {"write", j.Write}, {"trim", j.Trim}, {"mixed", j.Mixed}} {
		if w.Way != nil && w.Total > 0 {
			ways = append(ways, w)
		}
	}
	return ways
}

// Wall is how long the job did I/O.
func (j *Job) Wall() time.Duration {
	longest := 0.0
	for _, w := range j.Ways() {
		longest = max(longest, w.Runtime)
	}
	return seconds(longest / 1e3)
}

// Failures gives the share of failed I/Os, if that is known, and why the job is no
// data if it is none. With continue_on_error fio goes on and counts.
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

// meanings are of the error numbers, Linux's, that fio usually ends with.
var meanings = map[float64]string{
	2:  "no such file",
	5:  "input/output error",
	12: "out of memory",
	13: "permission denied",
	22: "invalid argument, often direct=1 on a file system without it",
	28: "no space left on the device",
	84: "verification found other data than was written",
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

// PerSecond is how many I/Os were done in a second.
func (w *Way) PerSecond() float64 {
	if w.IOPS > 0 || w.Runtime == 0 {
		return w.IOPS
	}
	return w.Total / w.Runtime * 1e3
}

// Start is when the job began, or as near as the report tells: when the run did.
func (r *Report) Start(j *Job) time.Time {
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
