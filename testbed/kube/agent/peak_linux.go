package agent

import "time"

// looks are the times after a program's start at which its memory is looked at;
// then every 30 s, so that a trial is not disturbed.
var looks = []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second}

// watchPeak looks until the leader has ended.
func (p *program) watchPeak(exited <-chan struct{}) {
	timer := time.NewTimer(looks[0])
	defer timer.Stop()
	for i := 0; ; i++ {
		select {
		case <-exited:
			return
		case <-timer.C:
		}
		p.server.processes.Lock()
		if !p.exited {
			p.peak.Look(p.pid)
		}
		p.server.processes.Unlock()
		wait := looks[len(looks)-1]
		if i+1 < len(looks) {
			wait = looks[i+1] - looks[i]
		}
		timer.Reset(wait)
	}
}
