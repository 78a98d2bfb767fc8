package runner

import (
	"fmt"
	"os"
	"os/signal"
	"time"
)

// interruption detects an interruption of a trial. Either Tare was stopped (Ctrl-Z) while the workload ran,
// and saw its end too late, or the whole machine was suspended.
type interruption struct {
	continued chan os.Signal
	asleep    time.Duration // total time for which the machine was suspended since it started
}

// watchPauses begins the detection. The method end ends it.
func watchPauses() *interruption {
	p := &interruption{continued: make(chan os.Signal, 1), asleep: asleep()}
	notifyContinued(p.continued)
	return p
}

// signalDelay is the time that a delivered signal may take to reach a Go channel through two goroutines. A
// workload that ended while Tare was stopped may be seen before the signal arrives.
const signalDelay = 2 * time.Millisecond

// minSuspension is the difference of the two clocks that can occur without a suspension.
const minSuspension = 10 * time.Millisecond

// end describes the interruption; "" if there was none.
func (p *interruption) end() string {
	defer signal.Stop(p.continued)
	if d := asleep() - p.asleep; d > minSuspension {
		return fmt.Sprintf("the machine was suspended for %v", d.Round(time.Millisecond))
	}
	select {
	case <-p.continued:
		return "Tare was stopped and continued"
	case <-time.After(signalDelay):
		return ""
	}
}
