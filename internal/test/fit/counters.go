package fit

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// look reads the machine's counters. A counter that the system does not report is 0.
func look() counters {
	c := counters{at: time.Now()}
	pressure, _ := os.ReadFile("/proc/pressure/cpu")
	var a, b, d float64
	var waited int64
	if _, err := fmt.Sscanf(string(pressure), "some avg10=%f avg60=%f avg300=%f total=%d", &a, &b, &d, &waited); err == nil {
		c.waiting = time.Duration(waited) * time.Microsecond
	}
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n") // user, nice, system, idle, iowait, irq, softirq, steal, …
	for i, field := range strings.Fields(strings.TrimPrefix(line, "cpu")) {
		var ticks float64
		if _, err := fmt.Sscan(field, &ticks); err != nil || i > 7 {
			break
		}
		c.processors += ticks
		if i == 7 {
			c.stolenTime = ticks
		}
	}
	return c
}
