package runner

import (
	"fmt"
	"os"
	"os/signal"
	"time"
)

// pause tells whether a trial was interrupted from outside: because Tare was
// stopped (Ctrl-Z) while the workload ran on, so that it saw the end too late,
// or because the whole machine was asleep.
type pause struct {
	continued chan os.Signal
	asleep    time.Duration // of the machine since it was started
}

// watchPauses begins to watch; end ends it.
func watchPauses() *pause {
	p := &pause{continued: make(chan os.Signal, 1), asleep: asleep()}
	notifyContinued(p.continued)
	return p
}

// delivery is how long a signal that the kernel has delivered may take to reach
// a Go channel: it passes through two goroutines. A workload that ended while
// Tare stood still is seen to have ended before the signal arrives.
const delivery = 2 * time.Millisecond

// shortestSleep is what the two clocks may differ by without a sleep.
const shortestSleep = 10 * time.Millisecond

// end says what interrupted the trial; "" if nothing did.
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
