package storage

import (
	"fmt"
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
	if c.Cap != nil && (c.Cap.IOPS < 0 || c.Cap.Bandwidth < 0 || c.Cap.IOPS == 0 && c.Cap.Bandwidth == 0) {
		errs.Add("cap", "give iops or bandwidth, above zero")
	}
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

// constellation is the profile of "Constellation performance benchmarks" (version 2.6): fio under kubestr, one CPU, a
// file of 10 GiB, 60 s after a warm-up of 10 s, past the page cache, 128 I/Os under way by libaio. randread and
// randwrite use blocks of 4 KiB for I/O per second, and of 1024 KiB for bandwidth.
const constellation profile = "constellation"

// Values lists the profiles.
func (profile) Values() []string { return []string{string(constellation)} }

// fill sets the duration and the warm-up of the profile, unless the file gives them. In all other fields, the
// workload's defaults already fit the profile.
func (c *Config) fill(given func(field string) bool) {
	if c.Profile == constellation && !given("duration") {
		c.Duration = quantity.Duration(time.Minute)
	}
	if c.Profile == constellation && !given("ramp") {
		c.Ramp = quantity.Duration(10 * time.Second)
	}
}

// Cap is the highest performance of a device, as its vendor or cloud states it.
type Cap struct {
	IOPS      int           `yaml:"iops" json:"iops,omitempty" doc:"I/Os per second; not known if absent"`
	Bandwidth quantity.Size `yaml:"bandwidth" json:"bandwidth,omitempty" doc:"bytes per second, such as 112MB; not known if absent"`
}

// forBlock returns the caps for I/Os of one block size; 0: no cap is known. Since bandwidth is I/Os per second × block
// size, a cap on one of the two limits the other.
func (c *Cap) forBlock(block quantity.Size) (iops, bandwidth float64) {
	if c == nil {
		return 0, 0
	}
	iops, bandwidth = float64(c.IOPS), float64(c.Bandwidth)
	if by := bandwidth / float64(block); bandwidth > 0 && (iops == 0 || by < iops) {
		iops = by
	}
	return iops, iops * float64(block)
}
