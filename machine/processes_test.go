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

	"tare/machine/proc"
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
			if got := processTimes(proc.All(proc.Below(tree(t, sys))), 77); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// A program that is not below this one is seen, though it began in between: the sum
// has grown by its time. How much more or less that is cannot be told, since others
// may end meanwhile and take their time with them.
func TestProcessTimesOfAnotherProgram(t *testing.T) {
	// The shell that starts it ends at once, so that it is handed to init.
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
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		p, err := proc.Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		if p.PPID == os.Getpid() {
			t.Skip("this process reaps orphans: the program is below it")
		} else if p.Own() >= 200*time.Millisecond {
			break
		}
		if time.Now().After(deadline) {
			t.Skip("the program gets no CPU")
		}
	}
	after := proc.All(proc.Below("/"))
	with := processTimes(after, os.Getpid())
	delete(after, pid)
	if grown := with - processTimes(after, os.Getpid()); grown < 200*time.Millisecond {
		t.Errorf("the time of other programs grew by %v, want 200ms or more", grown)
	}
}

func BenchmarkProcessTimes(b *testing.B) {
	files := proc.Below("/")
	for b.Loop() {
		processTimes(proc.All(files), os.Getpid())
	}
}
