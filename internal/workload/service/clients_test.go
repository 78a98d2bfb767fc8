package service

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The fastest of three responses gives the difference of the clocks.
func TestClockAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := []time.Duration{time.Second, 20 * time.Millisecond, 300 * time.Millisecond}
		ahead, within, err := ClockAhead(func() (time.Time, error) {
			now := time.Now().Add(time.Hour) // the request arrives at once
			time.Sleep(took[0])
			took = took[1:]
			return now, nil
		})
		if err != nil || len(took) > 0 || within != 10*time.Millisecond || ahead != time.Hour-within {
			t.Errorf("ahead by %v, within %v, %v; %d responses are left", ahead, within, err, len(took))
		}
		lost := errors.New("lost")
		if _, _, err := ClockAhead(func() (time.Time, error) { return time.Time{}, lost }); !errors.Is(err, lost) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestEach(t *testing.T) {
	odd := errors.New("odd")
	got, err := Each([]int{10, 21, 30}, func(i, n int) (int, error) {
		if n%2 > 0 {
			return 0, odd
		}
		return n + i, nil
	})
	if !slices.Equal(got, []int{10, 0, 32}) || !errors.Is(err, odd) {
		t.Errorf("%v, %v", got, err)
	}
}
