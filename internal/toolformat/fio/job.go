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

// Ways returns the kinds of I/O that the job did.
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

// Failures returns the share of failed I/Os, if it is known, and the reason why the job is invalid, if it is.
// With continue_on_error, fio continues after failures and counts them.
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

// meanings maps the error numbers of Linux with which fio usually ends to their texts.
var meanings = map[float64]string{
	2:  "no such file",
	5:  "input/output error",
	12: "out of memory",
	13: "permission denied",
	22: "invalid argument, often direct=1 on a file system without it",
	28: "no space left on the device",
	84: "verification found other data than was written",
}

// Bandwidth returns the bandwidth in B/s. Before fio 3.2, the report has it in KiB/s only.
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

// Start returns the time when the job began, or if the report lacks it, the time when the run began.
func (r *Report) Start(j *Job) time.Time {
	if at := moment(j.JobStart); !at.IsZero() || r.End.IsZero() {
		return at
	}
	return r.began(j)
}

// began returns the time when the run began: its end less the elapsed time, which each job reports.
func (r *Report) began(j *Job) time.Time { return r.End.Add(-seconds(j.Elapsed)) }

// seconds returns a duration; 0 if the number is not a sensible one.
func seconds(s float64) time.Duration {
	const most = 10 * 365 * 24 * 3600
	if !(s > 0 && s < most) {
		return 0
	}
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}
