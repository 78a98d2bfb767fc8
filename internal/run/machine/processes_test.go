package machine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/machine/proc"
	"tare/internal/test/fit"
)

// stat is a line of /proc/PID/stat.
func stat(parent, flags, utime, stime, cutime, cstime int) string {
	return fmt.Sprintf("0 (a) S 2 (b) S %d 1 1 0 -1 %d 10 20 30 40 %d %d %d %d 20 0 1 0 5 6"+strings.Repeat(" 0", 28),
		parent, flags, utime, stime, cutime, cstime)
}

func TestProcessTimes(t *testing.T) {
	const user, kernel = 4194560, 4194560 | 0x00200000
	tests := []struct {
		name      string
		processes map[int]string
		want      time.Duration
	}{
		{"none", nil, 0},
		{"own time and that of waited-for children", map[int]string{1: stat(0, user, 1, 2, 3, 4)}, 100 * time.Millisecond},
		{"not of kernel threads", map[int]string{1: stat(0, user, 5, 0, 0, 0), 2: stat(0, kernel, 100, 0, 0, 0)}, 50 * time.Millisecond},
		{"not of Tare and what is below it", map[int]string{
			1: stat(0, user, 5, 0, 0, 0), 77: stat(1, user, 100, 0, 100, 0), 80: stat(77, user, 100, 0, 0, 0), 81: stat(80, user, 100, 0, 0, 0),
		}, 50 * time.Millisecond},
		{"a circle ends", map[int]string{5: stat(6, user, 1, 0, 0, 0), 6: stat(5, user, 1, 0, 0, 0)}, 20 * time.Millisecond},
		{"what cannot be read is left out", map[int]string{1: stat(0, user, 5, 0, 0, 0), 9: "9 (x) S 1", 10: stat(1, user, -5, 0, 0, 0)}, 50 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys := fstest.MapFS{"proc/stat": {Data: []byte("cpu 1 2 3 4")}}
			for pid, line := range tt.processes {
				sys["proc/"+strconv.Itoa(pid)+"/stat"] = &fstest.MapFile{Data: []byte(line)}
			}
			if got := total(others(proc.All(proc.Below(tree(t, sys))), 77)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// A program outside of this process's tree is counted although it began between both readings: the sum has grown by
// its time. The exact growth is unknown, since other programs may end meanwhile.
func TestProcessTimesOfAnotherProgram(t *testing.T) {
	// The shell that starts the program ends at once, so that init becomes the program's parent.
	starter := exec.Command("setsid", "sh", "-c", "(while :; do :; done) > /dev/null 2>&1 & echo $!")
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Skip("needs setsid: ", err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	looping, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = looping.Kill() }()
	if err := starter.Wait(); err != nil {
		t.Fatal(err)
	}
	fit.Await(t, "200 ms of CPU time", func() bool {
		p, err := proc.Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		if p.PPID == os.Getpid() {
			t.Skip("this process reaps orphans: the program is below it")
		}
		return p.Own() >= 200*time.Millisecond
	})
	after := proc.All(proc.Below("/"))
	with := total(others(after, os.Getpid()))
	delete(after, pid)
	if grown := with - total(others(after, os.Getpid())); grown < 200*time.Millisecond {
		t.Errorf("the time of other programs grew by %v, want 200ms or more", grown)
	}
}

// BenchmarkOthers reads all processes, as happens once before each trial and once after it.
func BenchmarkOthers(b *testing.B) {
	files := proc.Below("/")
	for b.Loop() {
		others(proc.All(files), os.Getpid())
	}
}

// BenchmarkByName assigns CPU time to the names of 500 processes, which is additional work to reading them.
func BenchmarkByName(b *testing.B) {
	before, after := map[int]process{}, map[int]process{}
	for pid := range 500 {
		p := process{name: fmt.Sprint("program ", pid/5), start: 1, parent: 1, used: time.Second}
		before[pid] = p
		p.used += time.Millisecond
		after[pid] = p
	}
	for b.Loop() {
		busiest(byName(before, after), func(d time.Duration) float64 { return d.Seconds() })
	}
}

// The CPU time that programs used between two readings is listed by their names, also for programs that ended
// meanwhile.
func TestByName(t *testing.T) {
	at := func(name string, start uint64, parent int, ms time.Duration) process {
		return process{name, start, parent, ms * time.Millisecond}
	}
	before := map[int]process{1: at("init", 1, 0, 100), 10: at("make", 5, 1, 50), 11: at("cc", 6, 10, 30), 12: at("orphan", 7, 99, 1000), 13: at("idle", 8, 1, 70),
		20: at("bash", 9, 1, 10), 21: at("make", 10, 20, 100), 22: at("go", 11, 21, 4000)}
	after := map[int]process{1: at("init", 1, 0, 100), 10: at("make", 5, 1, 50+90), 11: at("cc", 20, 10, 200), 14: at("cc", 21, 10, 15), 13: at("idle", 8, 1, 70),
		20: at("bash", 9, 1, 10+4100+40)}
	want := map[string]time.Duration{
		"make": 60 * time.Millisecond,  // 90, of which 30 had been used by a child before
		"bash": 40 * time.Millisecond,  // of 4,140, of which a child and its child had used the rest before
		"cc":   215 * time.Millisecond, // two new ones, one with the id of the one that ended
	}
	if diff := cmp.Diff(want, byName(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c := Conditions{Programs: busiest(map[string]time.Duration{"a": 5, "b": 50, "c": 20, "d": 20, "e": 1}, func(d time.Duration) float64 { return float64(d) / 200 })}
	if got := c.Busiest(); got != "b 25.0%, c 10.0%, d 10.0%" {
		t.Errorf("busiest: %s", got)
	}
}
