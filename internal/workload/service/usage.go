package service

import (
	"errors"
	"time"

	"tare/internal/testbed"
)

// Process is a process whose CPU time and memory a trial accounts for.
type Process interface {
	CPU() (time.Duration, error)
	Memory() (int64, error)
}

// Account is the CPU time of a process at a moment.
type Account struct {
	at        time.Time
	cpu       time.Duration
	uncounted bool
}

// Begin begins an account of a process.
func Begin(process Process) (Account, error) {
	cpu, err := process.CPU()
	uncounted := errors.Is(err, testbed.ErrUncounted)
	if uncounted {
		err = nil
	}
	return Account{time.Now(), cpu, uncounted}, err
}

// Since returns what the process has used since the account began. All CPU time is given as user time. The
// memory is the resident memory now.
func (a Account) Since(process Process) (testbed.Usage, error) {
	now, err := Begin(process)
	if err != nil {
		return testbed.Usage{}, err
	}
	if now.uncounted {
		return testbed.Usage{Wall: now.at.Sub(a.at), Unavailable: true}, nil
	}
	memory, err := process.Memory()
	if err != nil {
		return testbed.Usage{}, err
	}
	return testbed.Usage{User: now.cpu - a.cpu, Wall: now.at.Sub(a.at), MaxRSS: memory}, nil
}

// Parts lists the processes that a trial accounts for, by part: "client", "server".
type Parts map[string][]Process

// Begin begins an account of all processes. The function that it returns ends the account, and returns the
// usage of each part. The CPU time and memory of a part are sums over its processes.
func (p Parts) Begin() (end func() (map[string]testbed.Usage, error), err error) {
	begun := map[Process]Account{}
	for _, processes := range p {
		for _, process := range processes {
			if begun[process], err = Begin(process); err != nil {
				return nil, err
			}
		}
	}
	return func() (map[string]testbed.Usage, error) {
		used := map[string]testbed.Usage{}
		for part, processes := range p {
			sum := testbed.Usage{}
			for _, process := range processes {
				one, err := begun[process].Since(process)
				if err != nil {
					return nil, err
				}
				sum.User, sum.MaxRSS, sum.Wall = sum.User+one.User, sum.MaxRSS+one.MaxRSS, one.Wall
				sum.Unavailable = sum.Unavailable || one.Unavailable
			}
			used[part] = sum
		}
		return used, nil
	}, nil
}
