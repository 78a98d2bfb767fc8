package machine

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/run/machine/proc"
)

// state holds the files of a machine with two CPUs and a kernel thread.
func state(stat, pressure, schedstat string, throttled string) fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"proc/stat":                        file(stat + "\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nintr 1 2 3\nctxt 7\n"),
		"proc/pressure/cpu":                file(pressure),
		"proc/loadavg":                     file("1.50 1.00 0.50 2/300 4000\n"),
		"proc/2/stat":                      file(thread(2, "kthreadd", 0)),
		"proc/2/schedstat":                 file("0 0 0\n"),
		"proc/3/stat":                      file(thread(3, "kworker/0:1", 2)),
		"proc/3/schedstat":                 file(schedstat),
		"proc/self/cgroup":                 file("0::/bench\n"),
		"sys/fs/cgroup/cgroup.controllers": file("cpu\n"),
		"sys/fs/cgroup/bench/cpu.stat":     file("usage_usec 5\nnr_periods 10\nnr_throttled " + throttled + "\n"),
		"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count":    file(throttled),
		"sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": file(throttled),
		"sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count": file(throttled),
	}
}

// thread is the file /proc/PID/stat of a kernel thread.
func thread(pid int, name string, parent int) string {
	return fmt.Sprintf("%d (%s) S %d 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20", pid, name, parent) + strings.Repeat(" 0", 28)
}

// sample runs a sampler over two states of a machine, ten seconds apart.
func sample(t *testing.T, before, after fstest.MapFS, own time.Duration) Conditions {
	t.Helper()
	s := newSampler(tree(t, before))
	now := time.Unix(1000, 0)
	s.now = func() time.Time { return now }
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.root = tree(t, after)
	now = now.Add(10 * time.Second)
	c, err := s.Stop(own)
	if err != nil {
		t.Fatal(err)
	}
	return c.Conditions()
}

// TestSamplerArithmetic computes a trial by hand: two CPUs for 10 s have 20 s of CPU time.
func TestSamplerArithmetic(t *testing.T) {
	before := state("cpu 1000 100 1000 5000 10 50 50 20 7 7", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", "1000000000 5 5\n", "3")
	for _, c := range []struct {
		name  string
		after fstest.MapFS
		own   time.Duration
		want  Conditions
	}{
		{"user, nice and system minus own and kernel threads",
			// user +8 s, nice +1 s, system +5 s, irq and softirq +1 s each, steal +2 s; kernel thread 2 s, own 7 s.
			state("cpu 1800 200 1500 5000 10 150 150 220 99 99", "some avg10=1.00 avg60=0.00 avg300=0.00 total=3500000\n", "3000000000 5 5\n", "5"), 7 * time.Second,
			Conditions{ForeignCPU: 5.0 / 20, Steal: 2.0 / 20, KernelCPU: 4.0 / 20, Busy: 16 * time.Second, CPUPressure: 0.25, Throttled: 6, Load: 1.5}},
		{"own time beyond what the ticks tell is not negative",
			state("cpu 1100 100 1000 5000 10 50 50 20", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n", "1000000000 5 5\n", "3"), 2 * time.Second,
			Conditions{Busy: time.Second, Load: 1.5}},
		{"no pressure told", state("cpu 1000 100 1000 5000 10 50 50 20", "", "1000000000 5 5\n", "3"), 0,
			Conditions{CPUPressure: -1, Load: 1.5}},
		{"counters that go back", state("cpu 0 0 0 0 0 0 0 0", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "0 0 0\n", "0"), 0, Conditions{Load: 1.5}},
		{"never over the whole", state("cpu 900000 0 0 0 0 90000 0 90000", "some avg10=0.00 avg60=0.00 avg300=0.00 total=999000000\n", "1000000000 5 5\n", "3"), 0,
			Conditions{ForeignCPU: 1, Steal: 1, KernelCPU: 1, Busy: 20 * time.Second, CPUPressure: 1, Load: 1.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sample(t, before, c.after, c.own)
			if d := cmp.Diff(c.want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestSamplerSoftirqThreads has ksoftirqd work for 4 of 10 s on two CPUs. The kernel counts this time as softirq
// time, not as system time. It must not hide the 5 s of a foreign program, and must not count twice.
func TestSamplerSoftirqThreads(t *testing.T) {
	before := state("cpu 0 0 0 0 0 0 0 0", "", "0 5 5\n", "0")
	after := state("cpu 500 0 0 1100 0 0 400 0", "", "4000000000 5 5\n", "0")
	for _, files := range []fstest.MapFS{before, after} {
		files["proc/3/stat"] = &fstest.MapFile{Data: []byte(thread(3, "ksoftirqd/0", 2))}
	}
	got := sample(t, before, after, 0)
	want := Conditions{ForeignCPU: 5.0 / 20, KernelCPU: 4.0 / 20, Busy: 9 * time.Second, CPUPressure: -1, Load: 1.5}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSamplerErrors(t *testing.T) {
	s := newSampler(t.TempDir())
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), "cannot read the CPU times: open proc/stat") {
		t.Errorf("%v", err)
	}
	if _, err := s.Stop(0); err == nil || !strings.Contains(err.Error(), "Stop without a Start") {
		t.Errorf("%v", err)
	}
	s = newSampler(tree(t, fstest.MapFS{"proc/stat": {Data: []byte("cpu 1 2 x\n")}}))
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), `/proc/stat: "x" is not a number of ticks`) {
		t.Errorf("%v", err)
	}
}

// TestKernelThreads tells kernel threads from other processes, also from one whose name resembles a thread's state.
func TestKernelThreads(t *testing.T) {
	sys := state("cpu 0", "", "5000 1 1\n", "0")
	sys["proc/4/stat"] = &fstest.MapFile{Data: []byte(thread(4, "a) S 2 (b", 1))}
	sys["proc/4/schedstat"] = &fstest.MapFile{Data: []byte("777 1 1\n")}
	look := func() map[int]time.Duration {
		files := proc.Below(tree(t, sys))
		return kernelTimes(files, proc.All(files))
	}
	if d := cmp.Diff(map[int]time.Duration{2: 0, 3: 5000}, look()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sys["proc/2/stat"] = &fstest.MapFile{Data: []byte(thread(2, "bash", 0))}
	if got := look(); len(got) != 0 {
		t.Errorf("in a container: %v", got)
	}
	before := map[int]time.Duration{1: 10, 2: 20, 3: 30}
	after := map[int]time.Duration{1: 15, 3: 5, 4: 7} // one more, one gone, one replaced, one new
	if got := threadTime(before, after); got != 5+7 {
		t.Errorf("thread time %d, want 12", got)
	}
}

// burnEnv makes the test binary wait for a line on stdin, use one CPU for the given CPU time, and wait for the end of
// stdin.
const burnEnv = "TARE_MACHINE_TEST_BURN"

func TestMain(m *testing.M) {
	if text := os.Getenv(burnEnv); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			os.Exit(1)
		}
		in := bufio.NewReader(os.Stdin)
		in.ReadString('\n')
		burn(d)
		fmt.Println("burnt")
		io.Copy(io.Discard, in)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// selfCPU is the CPU time that this process has used so far.
func selfCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// burn uses CPU time of this process.
func burn(d time.Duration) {
	x := 1.5
	for end := selfCPU() + d; selfCPU() < end; {
		for range 10_000 {
			x = math.Sqrt(x + 1)
		}
	}
}

// TestSamplerCounts burns CPU time in a child process between two snapshots. It counts the child once as a foreign
// program and once as Tare's own. Other programs are the same in both results. Only the first method for foreign CPU
// time (the rest) is tested: on a busy machine the second method may give the larger value, which hides the child's
// effect on the first.
func TestSamplerCounts(t *testing.T) {
	const burnt = 800 * time.Millisecond
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), burnEnv+"="+burnt.String())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()

	s := NewSampler()
	self := selfCPU()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	before, start := s.before, time.Now()
	io.WriteString(in, "go\n")
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "burnt\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	wall := time.Since(start)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	after, self := s.before, selfCPU()-self
	before.others, after.others = nil, nil
	f, o := between(&before, &after, self).Conditions(), between(&before, &after, self+burnt).Conditions()
	seconds := wall.Seconds() * float64(describe("/").CPU.Online)
	t.Logf("CPU seconds of other programs: %.2f with the child among them, %.2f without; wall %v", f.ForeignCPU*seconds, o.ForeignCPU*seconds, wall)
	if f.ForeignCPU*seconds < 0.5*burnt.Seconds() {
		t.Errorf("the child used %v, of which %.2f s count as foreign", burnt, f.ForeignCPU*seconds)
	}
	if d := (f.ForeignCPU - o.ForeignCPU) * seconds; d < 0.5*burnt.Seconds() {
		t.Errorf("taking the child's %v as Tare's own makes a difference of %.2f s", burnt, d)
	}
	if c := f; c.Steal < 0 || c.KernelCPU < 0 || c.CPUPressure > 1 || c.Load < 0 {
		t.Errorf("%+v", c)
	}
}

// BenchmarkSnapshot takes one snapshot of this machine.
func BenchmarkSnapshot(b *testing.B) {
	s := NewSampler()
	for b.Loop() {
		if err := s.Start(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(s.before.threads)), "kernel-threads")
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("cpu  21298 11473 9562 276114 801 0 2237 97 0 0\ncpu0 1 2 3\n"))
	f.Add([]byte("cpu"))
	f.Add([]byte("cpu 18446744073709551615 1 1 1\n"))
	f.Add([]byte("cpu 1 -1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStat(data)
		if err == nil && (s.Busy < 0 || s.Interrupts < 0 || s.Steal < 0 || s.CPUs < 0) {
			t.Errorf("%+v", s)
		}
	})
}

// FuzzCounters gives every file that prometheus/procfs reads the same text.
func FuzzCounters(f *testing.F) {
	f.Add("some avg10=13.36 avg60=43.66 avg300=22.95 total=108783369\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	f.Add("some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615")
	f.Add("3024 6050888 60\n")
	f.Add("18446744073709551615 6050888 60\n")
	f.Add("2 (kthreadd) S 0 0 0 0 -1")
	f.Add("1 (a) b) R 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 100" + strings.Repeat(" 0", 24))
	f.Fuzz(func(t *testing.T, text string) {
		file := &fstest.MapFile{Data: []byte(text)}
		root := tree(t, fstest.MapFS{"proc/pressure/cpu": file, "proc/2/stat": {Data: []byte(thread(2, "kthreadd", 0))}, "proc/2/schedstat": file, "proc/self/cgroup": file})
		files := proc.Below(root)
		if d := waitingTime(files); d < -1 {
			t.Errorf("pressure %v", d)
		}
		if d := kernelTimes(files, proc.All(files))[kthreadd]; d < 0 {
			t.Errorf("schedstat %v", d)
		}
		ownCgroup(os.DirFS(root), proc.Groups(files))
	})
}
