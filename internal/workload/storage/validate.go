package storage

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/workload"
)

const (
	leastSize = 16 << 20 // smallest size of the data, in bytes
	mostSize  = 64 << 40
	sector    = 512
	mostBlock = 64 << 20
)

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	c.validateLoad(&errs)
	c.validateSizes(&errs)
	for _, t := range []struct {
		field       string
		time, least quantity.Duration
	}{{"duration", c.Duration, quantity.Duration(time.Second)}, {"ramp", c.Ramp, 0}} {
		if t.time < t.least || t.time.Std() > 24*time.Hour || t.time.Std()%time.Millisecond != 0 {
			errs.Add(t.field, "%v is not a time from %v to 24h in whole milliseconds, which is what fio takes", t.time, t.least)
		}
	}
	switch {
	case c.Cold && c.Direct != throughCache:
		errs.Add("cold", "I/O past the page cache is always cold: use cold with direct: false")
	case c.Cold && !slices.ContainsFunc(c.Operations, operation.reads):
		errs.Add("cold", "writes do not come from the page cache: use cold for reads")
	}
	if c.Cold && slices.ContainsFunc(c.Jobs, func(n int) bool { return n > 1 }) {
		errs.Add("cold", "jobs that read the same data find it in the page cache: cold needs jobs: 1")
	}
	c.Cap.validate(&errs)
	switch {
	case c.SyncEvery < 0 || c.SyncEvery > 1<<20:
		errs.Add("syncEvery", "%d is not a number of writes up to %d", c.SyncEvery, 1<<20)
	case c.SyncEvery > 0 && slices.ContainsFunc(c.Operations, operation.reads):
		errs.Add("syncEvery", "there is nothing to sync after reads; give writes a workload of their own")
	}
	return errs
}

func (c *Config) validateLoad(errs *experiment.FieldErrors) {
	for i, n := range c.IODepth {
		switch {
		case n < 1 || n > 4096:
			errs.Add(fmt.Sprintf("ioDepth[%d]", i), "%d is not a number of I/Os from 1 to 4096", n)
		case n > 1 && c.Engine == pSync:
			errs.Add(fmt.Sprintf("ioDepth[%d]", i), "%s has one I/O under way in each job: write ioDepth: 1, and set jobs to the number of I/Os", pSync)
		}
	}
	workload.CheckNumbers(errs, "jobs", c.Jobs, 256, "jobs")
}

func (c *Config) validateSizes(errs *experiment.FieldErrors) {
	if c.Size < leastSize || c.Size > mostSize || c.Size%trailer != 0 {
		errs.Add("size", "%v is not a size from %v to %v in whole %v", c.Size, quantity.Size(leastSize), quantity.Size(mostSize), quantity.Size(trailer))
		return
	}
	jobs := 1
	if slices.ContainsFunc(c.Operations, operation.sequential) && len(c.Jobs) > 0 {
		jobs = max(1, slices.Max(c.Jobs))
	}
	for i, b := range c.BlockSize {
		field := fmt.Sprintf("blockSize[%d]", i)
		switch {
		case b < sector || b > mostBlock || b%sector != 0:
			errs.Add(field, "%v is not a size from %v to %v in whole %v", b, quantity.Size(sector), quantity.Size(mostBlock), quantity.Size(sector))
		case c.Size/quantity.Size(jobs) < b:
			errs.Add(field, "%v is too large for a size of %v and %d jobs", b, c.Size, jobs)
		}
	}
	if c.Volume > 0 && c.Volume < c.least() {
		errs.Add("volume", "%v is too small for a size of %v: at least %v is needed", c.Volume, c.Size, c.least())
	}
}

type profile string

// constellation is the profile of "Constellation performance benchmarks" (version 2.6): fio under kubestr, on CPU 0, a
// file of 10 GiB, 60 s after a warm-up of 10 s, past the page cache, 128 I/Os under way by libaio. randread and
// randwrite use blocks of 4 KiB for I/O per second, and of 1024 KiB for bandwidth.
const constellation profile = "constellation"

// fill sets the duration, the warm-up and the CPU of the profile, unless the file gives them. In all other fields, the
// workload's defaults already fit the profile.
func (c *Config) fill(given func(field string) bool) {
	if c.Profile != constellation {
		return
	}
	if !given("duration") {
		c.Duration = quantity.Duration(time.Minute)
	}
	if !given("ramp") {
		c.Ramp = quantity.Duration(10 * time.Second)
	}
	if !given("cpusAllowed") {
		c.CPUs = "0"
	}
}

// cpuList is fio's notation of a set of CPUs; "": all CPUs.
type cpuList string

var cpuNumbers = regexp.MustCompile(`^([0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*)?$`)

// Describe and Pattern describe the accepted texts.
func (cpuList) Describe() string { return "numbers of CPUs, such as 0 or 0,2-3" }
func (cpuList) Pattern() string  { return cpuNumbers.String() }

// UnmarshalText parses the parameter.
func (c *cpuList) UnmarshalText(text []byte) error {
	if !cpuNumbers.Match(text) {
		return fmt.Errorf("%q is not %s", text, c.Describe())
	}
	*c = cpuList(text)
	return nil
}

// Limits is the performance that a device reaches, as its vendor or cloud states it.
type Limits struct {
	IOPS      int           `yaml:"iops" json:"iops,omitempty" doc:"I/Os per second; not known if absent"`
	Bandwidth quantity.Size `yaml:"bandwidth" json:"bandwidth,omitempty" doc:"bytes per second, such as 112MB; not known if absent"`
}

// Cap is the highest performance of a device.
type Cap struct {
	Limits
	Burst *Limits `yaml:"burst" json:"burst,omitempty" doc:"what the device reaches for a while, as long as its burst credits last"`
}

func (c *Cap) validate(errs *experiment.FieldErrors) {
	positive := func(l Limits) bool { return l.IOPS >= 0 && l.Bandwidth >= 0 && l.IOPS+int(l.Bandwidth) > 0 }
	switch {
	case c == nil:
	case !positive(c.Limits):
		errs.Add("cap", "give iops or bandwidth, above zero")
	case c.Burst == nil:
	case !positive(*c.Burst), c.Burst.IOPS > 0 && c.Burst.IOPS <= c.IOPS, c.Burst.Bandwidth > 0 && c.Burst.Bandwidth <= c.Bandwidth:
		errs.Add("cap.burst", "give iops or bandwidth, above those of cap")
	case c.Burst.IOPS > 0 && c.IOPS == 0, c.Burst.Bandwidth > 0 && c.Bandwidth == 0:
		errs.Add("cap.burst", "a burst is above a limit that lasts: give this limit in cap, too")
	}
}

// ceiling holds the limits of one block size; 0: unknown.
type ceiling struct{ iops, bandwidth float64 }

// forBlock returns the limits that last and the limits of a burst, for I/Os of one block size in bytes. A burst has the
// lasting limit where it gives none. burst is zero if the file gives no burst, or no other limit for this block size.
func (c *Cap) forBlock(block float64) (lasting, burst ceiling) {
	if c == nil {
		return ceiling{}, ceiling{}
	}
	if lasting = c.Limits.forBlock(block); c.Burst == nil {
		return lasting, ceiling{}
	}
	burst = Limits{IOPS: cmp.Or(c.Burst.IOPS, c.IOPS), Bandwidth: cmp.Or(c.Burst.Bandwidth, c.Bandwidth)}.forBlock(block)
	if burst == lasting {
		return lasting, ceiling{}
	}
	return lasting, burst
}

// forBlock returns the limits for I/Os of one block size. Since bandwidth is I/Os per second × block size, a limit on
// one of the two limits the other.
func (l Limits) forBlock(block float64) ceiling {
	iops := float64(l.IOPS)
	if by := float64(l.Bandwidth) / block; by > 0 && (iops == 0 || by < iops) {
		iops = by
	}
	return ceiling{iops, iops * block}
}
