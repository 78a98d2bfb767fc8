package runner

import (
	"fmt"
	"os"
	"os/signal"
	"time"
)

// pause detects an interruption of a trial. Either Tare was stopped (Ctrl-Z) while the workload ran, and
// saw its end too late, or the whole machine was suspended.
type pause struct {
	continued chan os.Signal
	asleep    time.Duration // total time for which the machine was suspended since it started
}

// watchPauses begins the detection. The method end ends it.
func watchPauses() *pause {
	p := &pause{continued: make(chan os.Signal, 1), asleep: asleep()}
	notifyContinued(p.continued)
	return p
}

// delivery is the time that a delivered signal may take to reach a Go channel through two goroutines. A
// workload that ended while Tare was stopped may be seen before the signal arrives.
const delivery = 2 * time.Millisecond

// shortestSleep is the difference of the two clocks that can occur without a suspension.
const shortestSleep = 10 * time.Millisecond

// end describes the interruption; "" if there was none.
func (p *pause) end() string {
	defer signal.Stop(p.continued)
	if d := asleep() - p.asleep; d > shortestSleep {
		return fmt.Sprintf("the machine was suspended for %v", d.Round(time.Millisecond))
	}
	select {
	case <-p.continued:
		return "Tare was stopped and continued"
	case <-time.After(delivery):
		return ""
	}
}
