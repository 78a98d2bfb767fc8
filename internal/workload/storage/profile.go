package storage

import (
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

// profile is the name of a published study whose fio job is repeated.
type profile string

// constellation is "Constellation performance benchmarks" (version 2.6): fio under kubestr, one CPU, a file of 10
// GiB, 60 s after a warm-up of 10 s, 128 I/Os under way by libaio, past the page cache, randread and randwrite, with
// 4 KiB for I/O per second and 1024 KiB for bandwidth.
const constellation profile = "constellation"

// Values lists the profiles.
func (profile) Values() []string { return []string{string(constellation)} }

// fill gives each parameter that the file lacks the value of the profile.
func (c *Config) fill(given func(field string) bool) {
	if c.Profile != constellation {
		return
	}
	for field, set := range map[string]func(){
		"operations": func() { c.Operations = factor.Of(randomRead, randomWrite) },
		"blockSize":  func() { c.BlockSize = factor.Of[quantity.Size](4<<10, 1<<20) },
		"ioDepth":    func() { c.IODepth = factor.Of(128) },
		"jobs":       func() { c.Jobs = factor.Of(1) },
		"engine":     func() { c.Engine = libAIO },
		"direct":     func() { c.Direct = pastCache },
		"size":       func() { c.Size = 10 << 30 },
		"duration":   func() { c.Duration = quantity.Duration(time.Minute) },
		"ramp":       func() { c.Ramp = quantity.Duration(10 * time.Second) },
	} {
		if !given(field) {
			set()
		}
	}
}

// Cap is the highest performance of a device, by its vendor or by the limit of a cloud.
type Cap struct {
	IOPS      int           `yaml:"iops" json:"iops,omitempty" doc:"I/Os per second; not known if absent"`
	Bandwidth quantity.Size `yaml:"bandwidth" json:"bandwidth,omitempty" doc:"bytes per second, such as 112MB; not known if absent"`
}

// of returns the caps for I/Os of this size. A cap of the bandwidth also limits the I/Os per second, and a
// cap of the I/Os per second also limits the bandwidth. 0: no cap is given.
func (c *Cap) of(block quantity.Size) (iops, bandwidth float64) {
	if c == nil {
		return 0, 0
	}
	iops, bandwidth = float64(c.IOPS), float64(c.Bandwidth)
	if by := bandwidth / float64(block); bandwidth > 0 && (iops == 0 || by < iops) {
		iops = by
	}
	return iops, iops * float64(block)
}
