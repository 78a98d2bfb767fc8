package storage

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/storage/residency"
	"tare/internal/workload/workloadtest"
)

// TestMain becomes the workload's helper if it is started under the helper's name.
func TestMain(m *testing.M) { localtest.Main(m, residency.Helper) }

// memory keeps the raw output of a trial in a round.
type memory struct {
	workloadtest.Raw
	round int
}

// short is a config for tests, on a volume that may lack O_DIRECT.
func short(op operation) *Config {
	c := New().(*Config)
	c.Operations, c.BlockSize, c.IODepth = factor.Of(op), factor.Of[quantity.Size](4<<10), factor.Of(8)
	c.Size, c.Duration, c.Ramp = leastSize, quantity.Duration(time.Second), 0
	c.Direct = throughCache
	return c
}

func run(ctx context.Context, c *Config, site testbed.Site, raw *memory) (workload.Result, error) {
	return workloadtest.Run(ctx, c, &workload.Trial{Site: site, Raw: raw, Round: raw.round})
}

func needFio(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed:", err)
	}
}

// spy is a site that records the commands it runs.
type spy struct {
	directory
	commands *[][]string
}

func (s spy) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where != testbed.ClientPod || !cmd.Subject {
		return nil, errors.New("fio is to run in the client's pod, as a program under test")
	}
	*s.commands = append(*s.commands, cmd.Args)
	return s.directory.Start(ctx, where, cmd)
}

func TestOperations(t *testing.T) {
	slow.Test(t)
	needFio(t)
	many := short(read)
	many.Jobs, many.Ramp = factor.Of(3), quantity.Duration(time.Second)
	synced := short(randomWrite)
	synced.SyncEvery, synced.Engine, synced.IODepth = 1, pSync, factor.Of(1)
	tests := []struct {
		name   string
		config *Config
		want   []string
		files  []string
	}{
		{"randread", short(randomRead), []string{"buffered-read-bandwidth", "buffered-read-iops", "buffered-read-latency", "buffered-read-total-latency"},
			[]string{"check-2.json", "check-stderr.txt", "check.json", "fio.json", "layout.json", "mark.json"}},
		{"read", many, []string{"buffered-read-bandwidth", "buffered-read-iops", "buffered-read-latency", "buffered-read-total-latency"},
			[]string{"check-2.json", "check-stderr.txt", "check.json", "fio.json", "layout.json", "mark.json", "ramp.json"}},
		{"randwrite", synced, []string{"buffered-write-bandwidth", "buffered-write-iops", "buffered-write-latency", "buffered-write-sync-latency", "buffered-write-total-latency"},
			[]string{"check-2.json", "check-stderr.txt", "check.json", "fio.json", "layout.json", "mark.json"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var raw memory
			r, err := run(t.Context(), test.config, directory(t.TempDir()), &raw)
			if err != nil {
				t.Fatal(err)
			}
			known := map[string]bool{} // metrics by name; true: the metric is optional
			for _, m := range test.config.Measures().All() {
				known[m.Name] = m.Optional
			}
			for _, name := range test.want {
				if r.Values[name] <= 0 {
					t.Errorf("%s is %v", name, r.Values[name])
				}
			}
			for name := range r.Values {
				if optional, ok := known[name]; !ok || !optional && !slices.Contains(test.want, name) {
					t.Errorf("%s is not expected", name)
				}
			}
			costs, err := workload.Price(*test.config.Measures().Cost, r, 0, 0)
			if err != nil || costs[test.config.prefix(true)+"-cpu"] <= 0 || costs[test.config.prefix(true)+"-memory-fio"] <= 0 {
				t.Errorf("costs %v, %v", costs, err)
			}
			if diff := cmp.Diff(test.files, raw.Names()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLayout checks that no unwritten block is read, neither after the first trial nor after writes.
func TestLayout(t *testing.T) {
	slow.Test(t)
	needFio(t)
	dir := filepath.Join(t.TempDir(), "a:b c") // fio separates files by colons
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	site := spy{directory(dir), &commands}
	layouts := func() int {
		n := 0
		for _, args := range commands {
			if slices.Contains(args, "--refill_buffers=1") {
				n++
			}
		}
		return n
	}
	trial := func(op operation) {
		t.Helper()
		if _, err := run(t.Context(), short(op), site, &memory{}); err != nil {
			t.Fatal(err)
		}
		whole(t, filepath.Join(dir, "tare-storage-16MiB"))
	}
	trial(randomRead)
	trial(write)
	trial(randomWrite)
	if n := layouts(); n != 1 {
		t.Errorf("laid out %d times", n)
	}
	// A file whose layout was interrupted has no mark.
	if err := os.Truncate(filepath.Join(dir, "tare-storage-16MiB"), 5<<20); err != nil {
		t.Fatal(err)
	}
	trial(read)
	if n := layouts(); n != 2 {
		t.Errorf("laid out %d times, and was to be again", n-1)
	}
	// A mark for another size does not count.
	if err := os.Truncate(filepath.Join(dir, "tare-storage-16MiB"), leastSize); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "tare-storage-16MiB"), leastSize+trailer); err != nil {
		t.Fatal(err)
	}
	trial(read)
	if n := layouts(); n != 3 {
		t.Errorf("laid out %d times, and was to be again", n-2)
	}
}

// whole fails the test unless a file has its full size and no block of zeros.
func whole(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != leastSize+trailer {
		t.Fatalf("%d bytes", len(data))
	}
	zeros := make([]byte, 4096)
	for at := 0; at < len(data); at += len(zeros) {
		if bytes.Equal(data[at:at+len(zeros)], zeros) {
			t.Fatalf("nothing was written at %d", at)
		}
	}
}

// TestBlock measures a file as if it were a device: fio gets only its path.
func TestBlock(t *testing.T) {
	needFio(t)
	device := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(device, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(device, leastSize+trailer); err != nil {
		t.Fatal(err)
	}
	c := short(randomRead)
	c.Mode = Block
	if _, err := run(t.Context(), c, directory(device), &memory{}); err != nil {
		t.Fatal(err)
	}
	whole(t, device)
}

func TestDirect(t *testing.T) {
	needFio(t)
	c := short(randomRead)
	c.Direct = pastCache
	r, err := run(t.Context(), c, directory(t.TempDir()), &memory{})
	if err != nil && strings.Contains(err.Error(), "refuses O_DIRECT") {
		t.Skip("the file system of temporary files does:", err)
	}
	if err != nil || r.Values["read-iops"] <= 0 {
		t.Errorf("%v, %v", r.Values, err)
	}
}

// TestSeeds checks that seeds are the same for the arms of a round, and differ between rounds.
func TestSeeds(t *testing.T) {
	c := short(randomRead)
	seen := map[uint32]string{}
	for _, round := range []int{1, 2, 3, 100} {
		for _, what := range []string{"ramp", "measure"} {
			a, _ := c.begin(&workload.Trial{Site: directory("/a"), Raw: &memory{}, Round: round})
			b, _ := c.begin(&workload.Trial{Site: directory("/b"), Raw: &memory{}, Round: round})
			if a.seed(what) != b.seed(what) {
				t.Errorf("round %d: %d and %d", round, a.seed(what), b.seed(what))
			}
			seed := a.seed(what) >> 4 // fio 3.33 uses only these bits
			if other := seen[seed]; other != "" {
				t.Errorf("%s of round %d has the seed of %s", what, round, other)
			}
			seen[seed] = what
		}
	}
}

func TestNeeds(t *testing.T) {
	c := short(read)
	tests := []struct {
		size, volume quantity.Size
		mode         mode
		want         quantity.Size
	}{
		{10 << 30, 0, filesystem, 12 << 30},
		{16 << 20, 0, filesystem, 81 << 20},
		{10 << 30, 400 << 30, filesystem, 400 << 30},
		{10 << 30, 0, Block, 11 << 30},
		{16 << 20, 0, Block, 17 << 20},
	}
	for _, test := range tests {
		c.Size, c.Volume, c.Mode = test.size, test.volume, test.mode
		want := experiment.Needs{Volume: &experiment.Volume{Size: test.want, Block: test.mode == Block}}
		if diff := cmp.Diff(want, c.Declare().Needs); diff != "" {
			t.Errorf("%+v: %s", test, diff)
		}
	}
}

func TestMetrics(t *testing.T) {
	headlines := func(c *Config) (names []string) {
		for _, m := range c.Measures().All() {
			if m.Headline {
				names = append(names, m.Name)
			}
		}
		return names
	}
	c := short(randomRead)
	c.Direct = pastCache
	if diff := cmp.Diff([]string{"read-iops", "read-cpu"}, headlines(c)); diff != "" {
		t.Error(diff)
	}
	c.Operations, c.BlockSize = factor.Of(write), factor.Of[quantity.Size](1<<20)
	if diff := cmp.Diff([]string{"write-bandwidth", "write-cpu"}, headlines(c)); diff != "" {
		t.Error(diff)
	}
	want := &experiment.Loop{Latency: "write-total-latency", Throughput: "write-iops", Workers: 8}
	if diff := cmp.Diff(want, c.loop("write")); diff != "" {
		t.Error(diff)
	}
	c.SyncEvery = 1
	if c.loop("write") != nil {
		t.Error("fsync is in neither latency nor I/O per second")
	}
}

func TestValidate(t *testing.T) {
	c := New().(*Config)
	if errs := c.validate(); len(errs) != 0 {
		t.Errorf("the defaults are wrong: %v", errs)
	}
	c.Engine, c.IODepth, c.Jobs = pSync, factor.Of(1, 0, 2), factor.Of(0, 64)
	c.BlockSize, c.Size = factor.Of[quantity.Size](1000, 4<<10, 1<<20), 16<<20
	c.Operations, c.Duration, c.Ramp, c.SyncEvery, c.Volume = factor.Of(read), 1, quantity.Duration(48*time.Hour), 2, 20<<20
	want := []experiment.FieldError{
		{Field: "ioDepth[1]", Message: "0 is not a number of I/Os from 1 to 4096"},
		{Field: "ioDepth[2]", Message: "psync has one I/O under way in each job: write ioDepth: 1, and set jobs to the number of I/Os"},
		{Field: "jobs[0]", Message: "0 is not a number of jobs from 1 to 256"},
		{Field: "blockSize[0]", Message: "1kB is not a size from 512B to 64MiB in whole 512B"},
		{Field: "blockSize[2]", Message: "1MiB is too large for a size of 16MiB and 64 jobs"},
		{Field: "volume", Message: "20MiB is too small for a size of 16MiB: at least 81MiB is needed"},
		{Field: "duration", Message: "1ns is not a time from 1s to 24h in whole milliseconds, which is what fio takes"},
		{Field: "ramp", Message: "48h is not a time from 0s to 24h in whole milliseconds, which is what fio takes"},
		{Field: "syncEvery", Message: "there is nothing to sync after reads; give writes a workload of their own"},
	}
	if diff := cmp.Diff(want, c.validate()); diff != "" {
		t.Error(diff)
	}
	c = New().(*Config)
	c.Size = 16<<20 + 1
	if diff := cmp.Diff([]experiment.FieldError{{Field: "size", Message: "16777217B is not a size from 16MiB to 64TiB in whole 1MiB"}}, c.validate()); diff != "" {
		t.Error(diff)
	}
}

func TestCap(t *testing.T) {
	azure := &Cap{Limits: Limits{IOPS: 500, Bandwidth: 60e6}, Burst: &Limits{IOPS: 600, Bandwidth: 150e6}}
	tests := []struct {
		cap            *Cap
		block          float64
		lasting, burst ceiling
		want           string // the problem
	}{
		{nil, 4096, ceiling{}, ceiling{}, ""},
		{azure, 4096, ceiling{500, 500 * 4096}, ceiling{600, 600 * 4096}, ""},
		{azure, 1 << 20, ceiling{60e6 / (1 << 20), 60e6}, ceiling{150e6 / (1 << 20), 150e6}, ""},
		{&Cap{Limits: Limits{IOPS: 2400, Bandwidth: 112e6}}, 4096, ceiling{2400, 2400 * 4096}, ceiling{}, ""},
		{&Cap{Limits: Limits{IOPS: 500, Bandwidth: 60e6}, Burst: &Limits{Bandwidth: 150e6}}, 4096, ceiling{500, 500 * 4096}, ceiling{}, ""},
		{&Cap{}, 4096, ceiling{}, ceiling{}, "give iops or bandwidth, above zero"},
		{&Cap{Limits: Limits{IOPS: 500}, Burst: &Limits{IOPS: 500}}, 4096, ceiling{500, 500 * 4096}, ceiling{}, "give iops or bandwidth, above those of cap"},
		{&Cap{Limits: Limits{IOPS: 500}, Burst: &Limits{Bandwidth: 150e6}}, 4096, ceiling{500, 500 * 4096}, ceiling{500, 500 * 4096}, "a burst is above a limit that lasts: give this limit in cap, too"},
	}
	for _, test := range tests {
		lasting, burst := test.cap.forBlock(test.block)
		var errs experiment.FieldErrors
		test.cap.validate(&errs)
		problem := ""
		if len(errs) > 0 {
			problem = errs[0].Message
		}
		if problem != test.want || problem == "" && (lasting != test.lasting || burst != test.burst) {
			t.Errorf("%+v for %g B: %+v, %+v, %q", test.cap, test.block, lasting, burst, problem)
		}
	}
}

func TestProbe(t *testing.T) {
	needFio(t)
	for _, f := range probe(t.Context()) {
		if f.Status != testbed.Works {
			t.Errorf("%+v", f)
		}
	}
	t.Setenv("PATH", t.TempDir())
	want := []testbed.Finding{{Name: "fio", Status: testbed.Missing, Detail: "fio is not in the PATH", Hint: "apt-get install fio"}}
	if diff := cmp.Diff(want, probe(t.Context())); diff != "" {
		t.Error(diff)
	}
}

// A file with only the profile has the parameters of the published study.
func TestProfile(t *testing.T) {
	c := New().(*Config)
	c.Profile = constellation
	c.fill(func(string) bool { return false })
	want := &Config{
		Profile: constellation, Operations: factor.Of(randomRead, randomWrite), BlockSize: factor.Of[quantity.Size](4<<10, 1<<20), IODepth: factor.Of(128),
		Jobs: factor.Of(1), Engine: libAIO, Direct: pastCache, Size: 10 << 30, Duration: quantity.Duration(time.Minute), Ramp: quantity.Duration(10 * time.Second),
		Mode: filesystem, CPUs: "0",
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	c.Duration, c.CPUs = quantity.Duration(time.Second), ""
	if c.fill(func(field string) bool { return field != "ramp" }); c.Duration != quantity.Duration(time.Second) || c.CPUs != "" {
		t.Errorf("the profile has replaced the file's duration by %v, its CPUs by %q", c.Duration, c.CPUs)
	}
}
