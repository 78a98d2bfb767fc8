// Package storage measures a volume with fio (3.33 and later): one kind of I/O, at one block size and depth, in each
// trial.
//
// fio runs in the client's pod, on a file of the volume or on the block device itself. It reads only blocks that were
// written before. File systems and thin volumes answer reads of other blocks from memory, far faster than any disk. The
// first trial at a site therefore lays the data out, with contents that do not compress, and writes a mark to the
// volume (job.go). Each trial checks the mark. Layout and check are not measured.
//
// After each trial with direct I/O, Tare examines the page cache to check that the I/O went past it (residency,
// read.go).
//
// The warm-up is a separate run of fio. With fio's own ramp_time, the CPU time of the measured process would include
// the warm-up.
//
// A trial is a closed loop: ioDepth × jobs I/Os are under way, and each completion starts the next I/O. Latency and I/O
// per second then follow from each other. The plan records this relation (Loop).
//
// Random offsets are drawn anew in each round, since a cache may still hold blocks from the round before. Within a
// round all arms have equal offsets, so that the trials of a pair read equal blocks.
package storage

import (
	"context"
	"errors"
	"regexp"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/lists"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/toolformat/fio"
	"tare/internal/workload"
	"tare/internal/workload/storage/residency"
)

// operation is fio's name for a kind of I/O.
type operation string

const (
	randomRead  operation = "randread"
	randomWrite operation = "randwrite"
	read        operation = "read"
	write       operation = "write"
)

// cold reports whether the trial begins with an empty page cache and reads each block at most once.
func (c *Config) cold() bool { return c.Cold && c.Operations.One().reads() }

func (o operation) reads() bool { return o == randomRead || o == read }

func (o operation) sequential() bool { return o == read || o == write }

type engine string

const (
	libAIO engine = "libaio"
	pSync  engine = "psync"
)

// mode is the way the pod uses the volume: as a file system, or as a block device.
type mode string

const (
	filesystem mode = "filesystem"
	Block      mode = "block"
)

// Config is the parameters of the workload.
type Config struct {
	Profile    profile                      `yaml:"profile" json:"profile,omitempty" enum:"constellation" doc:"published study whose operations, block sizes, depth, size and times are used where none are given"`
	Operations factor.Levels[operation]     `yaml:"operations" factor:"operation" json:"operations" enum:"randread,randwrite,read,write" doc:"kinds of I/O, each measured in separate trials"`
	BlockSize  factor.Levels[quantity.Size] `yaml:"blockSize" json:"blockSize" doc:"size of one I/O, from 512B to 64MiB"`
	IODepth    factor.Levels[int]           `yaml:"ioDepth" json:"ioDepth" doc:"I/Os that each job keeps under way, 1 to 4096"`
	Jobs       factor.Levels[int]           `yaml:"jobs" json:"jobs" doc:"jobs at the same time, 1 to 256"`
	CPUs       cpuList                      `yaml:"cpusAllowed" json:"cpusAllowed,omitempty" doc:"numbers of the CPUs that fio's jobs may use, such as 0; all CPUs if empty"`
	Engine     engine                       `yaml:"engine" json:"engine" enum:"libaio,io_uring,psync" doc:"how fio asks the kernel for I/O"`
	Direct     direct                       `yaml:"direct" json:"direct" doc:"go past the page cache (O_DIRECT); Tare checks this after each trial. With false, the names of metrics begin with buffered-; with auto, only in trials that went through the page cache"`
	Cold       bool                         `yaml:"cold" json:"cold,omitempty" doc:"with direct: false, reads begin with an empty page cache and read each block once at most"`
	Size       quantity.Size                `yaml:"size" json:"size" doc:"size of the file or of the part of the device that is used"`
	Duration   quantity.Duration            `yaml:"duration" json:"duration" doc:"length of the measurement"`
	Ramp       quantity.Duration            `yaml:"ramp" json:"ramp" doc:"warm-up before the measurement; it does not count"`
	Mode       mode                         `yaml:"mode" json:"mode" enum:"filesystem,block" doc:"a file on the volume's file system, or the volume as a raw block device"`
	SyncEvery  int                          `yaml:"syncEvery" json:"syncEvery,omitempty" doc:"number of writes after which fio calls fsync; never if absent"`
	Cap        *Cap                         `yaml:"cap" json:"cap,omitempty" doc:"highest performance of the device: values above it are flagged, since they are not the device's"`
	Volume     quantity.Size                `yaml:"volume" json:"volume,omitempty" doc:"size of the volume to ask for; size and some slack if absent"`
}

// New gives the workload with its defaults.
func New() workload.Workload {
	return &Config{
		Operations: factor.Of(randomRead, randomWrite),
		BlockSize:  factor.Of[quantity.Size](4<<10, 1<<20),
		IODepth:    factor.Of(128),
		Jobs:       factor.Of(1),
		Engine:     libAIO,
		Direct:     pastCache,
		Size:       10 << 30,
		Duration:   quantity.Duration(15 * time.Second),
		Ramp:       quantity.Duration(2 * time.Second),
		Mode:       filesystem,
	}
}

// Kind describes the workload.
var Kind = workload.Kind{
	Name:    "storage",
	Summary: "reads and writes on a volume: I/O per second, bandwidth, latency, CPU per gigabyte (fio)",
	New:     New,
	Probe:   probe,
	Helpers: []testbed.Helper{residency.Helper},
}

// Declare lists the needs of the workload: a volume, and fio.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Fill:     c.fill,
		Validate: c.validate,
		Needs:    experiment.Needs{Volume: &experiment.Volume{Size: c.volume(), Block: c.Mode == Block}},
		Tools:    []experiment.Tool{{Name: "fio", Version: []string{"--version"}}},
		Tests:    map[direct]string{pastCache: experiment.TestsDisk}[c.Direct],
	}
}

// least returns the size of the smallest volume that holds the data. A file system keeps up to a tenth of the volume
// for itself and for root.
func (c *Config) least() quantity.Size {
	if c.Mode == Block {
		return c.Size + trailer
	}
	return (c.Size+c.Size/10)/trailer*trailer + 64<<20
}

// volume returns the size of the volume to ask for. Clouds have volumes of whole GiB only, so a size above 1 GiB is
// rounded up to whole GiB.
func (c *Config) volume() quantity.Size {
	if c.Volume > 0 {
		return c.Volume
	}
	whole := quantity.Size(1 << 20)
	if c.least() > 1<<30 {
		whole = 1 << 30
	}
	return (c.least() + whole - 1) / whole * whole
}

// prefix returns the beginning of metric names: "read" or "write". For a trial through the page cache, "buffered-"
// comes before it.
func (c *Config) prefix(buffered bool) string {
	name := "write"
	if c.Operations.One().reads() {
		name = "read"
	}
	if buffered {
		return "buffered-" + name
	}
	return name
}

const part = "fio"

// startUp is the time that one start and end of fio takes. A trial runs fio three times.
const startUp = 350 * time.Millisecond

// Measures returns the metrics of a trial. Only the time limit includes the layout of the data. With direct: auto it
// lists metrics past the page cache and through it, without cost and loop.
func (c *Config) Measures() experiment.Measures {
	m := experiment.Measures{
		Expected: (c.Ramp + c.Duration).Std() + 3*startUp,
		Limit:    c.layoutLimit() + limit(c.Ramp.Std()) + limit(c.Duration.Std()) + 2*limit(0),
	}
	if c.Direct == auto {
		m.Metrics = append(c.measured(c.prefix(false)), c.measured(c.prefix(true))...)
		for i := range m.Metrics {
			m.Metrics[i].Optional = true
		}
		return m
	}
	p := c.prefix(c.Direct == throughCache)
	m.Metrics, m.Cost, m.Loop = c.measured(p), &experiment.Cost{Prefix: p, Unit: "GB", Parts: []string{part}}, c.loop(p)
	return m
}

func (c *Config) measured(p string) []experiment.Metric {
	small := c.BlockSize.One() <= fio.SmallBlock
	latency := func(name string, optional bool) experiment.Metric {
		return experiment.Metric{Name: p + name, Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: optional}
	}
	most, burst := c.Cap.forBlock(float64(c.BlockSize.One()))
	metrics := []experiment.Metric{
		{Name: p + "-iops", Unit: "1/s", Better: experiment.Higher, Headline: small, Scale: experiment.Ratio, Cap: most.iops, Burst: burst.iops},
		{Name: p + "-bandwidth", Unit: "B/s", Better: experiment.Higher, Headline: !small, Scale: experiment.Ratio, Cap: most.bandwidth, Burst: burst.bandwidth},
		latency("-latency", false), latency("-total-latency", false),
	}
	metrics = append(metrics, lists.Map(quantiles, func(q workload.Quantile) experiment.Metric { return latency("-"+q.String(), true) })...)
	if c.SyncEvery > 0 {
		metrics = append(metrics, latency("-sync-latency", true), latency("-sync-p99", true))
	}
	return metrics
}

// loop names latency and I/Os per second, which follow from each other in a closed loop. With fsync it returns nil:
// both metrics exclude fsync's time.
func (c *Config) loop(p string) *experiment.Loop {
	if c.SyncEvery > 0 {
		return nil
	}
	workers := c.Jobs.One()
	if c.Engine != pSync {
		workers *= c.IODepth.One()
	}
	return &experiment.Loop{Latency: p + "-total-latency", Throughput: p + "-iops", Workers: float64(workers)}
}

// Prepare lays the data out if necessary, warms up, and empties the page cache if the trial needs an empty one.
func (c *Config) Prepare(ctx context.Context, on *workload.Trial) (workload.Measured, error) {
	t, err := c.begin(on)
	if err != nil {
		return nil, err
	}
	if c.Direct != throughCache {
		if err := t.checkDirect(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.layOut(ctx); err != nil {
		return nil, err
	}
	if c.Ramp > 0 {
		if err := t.ramp(ctx); err != nil {
			return nil, err
		}
	}
	if c.Direct != throughCache || c.Cold {
		if _, err := t.look(ctx, true); err != nil {
			return nil, err
		}
	}
	return t.measure, nil
}

var tool = workload.Tool{Name: "fio", Version: regexp.MustCompile(`^fio-(\d{1,6})\.(\d{1,6})`), Oldest: [2]int{3, 33}}

func probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{tool.Probe(ctx, tryDirectory)}
}

// tryDirectory runs fio for a second on a file of this machine. The I/O goes through the page cache, since the probe is
// about fio and not the disk.
func tryDirectory(ctx context.Context) (err error) {
	dir, err := owned.Dir("", "fio")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owned.Remove(dir)) }()
	c := New().(*Config)
	c.Operations, c.BlockSize, c.IODepth = factor.Of(randomRead), factor.Of[quantity.Size](4<<10), factor.Of(4)
	c.Size, c.Duration, c.Ramp, c.Direct = leastSize, quantity.Duration(time.Second), 0, throughCache
	measure, err := c.Prepare(ctx, &workload.Trial{Site: directory(dir), Raw: workload.Discard})
	if err != nil {
		return err
	}
	_, err = measure(ctx)
	return err
}

// directory is a site on this machine whose volume is a directory.
type directory string

func (d directory) Volume() string { return string(d) }

// Start starts a program on this machine.
func (directory) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	return local.Here.Start(ctx, testbed.Host, cmd)
}

var _ testbed.Volume = directory("")
