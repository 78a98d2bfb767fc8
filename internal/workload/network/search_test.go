package network

import (
	"context"
	"testing"
)

// channel is a simulated path.
type channel struct {
	capacity float64 // rate up to which the channel delivers everything
	most     float64 // highest rate of the sender; 0: unlimited
	collapse float64 // fall of the delivered rate with overload; 0: a plain link
	blips    map[int]float64
}

func (c channel) try(_ context.Context, n int, offered float64) (step, error) {
	sent := offered
	if c.most > 0 && (offered == 0 || offered > c.most) {
		sent = c.most
	}
	received := sent
	if sent > c.capacity {
		received = max(c.capacity/50, c.capacity-c.collapse*(sent-c.capacity))
	}
	received *= 1 - c.blips[n]
	return step{Sent: sent, Received: received, Loss: 1 - received/sent}, nil
}

func TestSearch(t *testing.T) {
	tests := []struct {
		name        string
		channel     channel
		ceiling     float64
		limit       float64
		low, high   float64 // bounds on the result
		least, most int     // bounds on the number of steps
	}{
		{"no bottleneck below the ceiling", channel{capacity: 2e9}, 1e9, 0.01, 1e9, 1e9, 1, 1},
		{"link with headers", channel{capacity: 0.9718e9}, 1e9, 0.01, 0.9718e9, 0.9816e9, 3, 6},
		{"slow sender", channel{capacity: 2e9, most: 0.5e9}, 1e9, 0.01, 1e9, 1e9, 1, 1},
		{"slow sender, no cap", channel{capacity: 2e9, most: 0.5e9}, 0, 0.01, 0, 0, 1, 1},
		{"no cap", channel{capacity: 2e9, most: 3e9}, 0, 0.01, 2e9, 2.03e9, 3, 14},
		{"collapse under overload", channel{capacity: 0.4e9, collapse: 1}, 1e9, 0.01, 0.396e9, 0.404e9, 6, 18},
		{"total collapse", channel{capacity: 0.1e9, collapse: 10}, 1e9, 0.01, 0.099e9, 0.1011e9, 6, 18},
		{"no loss at all", channel{capacity: 0.5e9}, 1e9, 0, 0.495e9, 0.5e9, 3, 12},
		{"passing loss", channel{capacity: 0.9718e9, blips: map[int]float64{2: 0.03}}, 1e9, 0.01, 0.9718e9, 0.9816e9, 3, 7},
		{"heavy loss once", channel{capacity: 0.9718e9, blips: map[int]float64{2: 0.3}}, 1e9, 0.01, 0.96e9, 0.9816e9, 3, 14},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := search{limit: test.limit, try: test.channel.try}
			got, err := s.find(t.Context(), test.ceiling)
			if err != nil {
				t.Fatal(err)
			}
			if got < test.low || got > test.high {
				t.Errorf("got %.4g, want it in [%.4g, %.4g]; steps %+v", got, test.low, test.high, s.steps)
			}
			if n := len(s.steps); n < test.least || n > test.most {
				t.Errorf("took %d steps, want %d to %d: %+v", n, test.least, test.most, s.steps)
			}
		})
	}
}

func TestSearchGivesUp(t *testing.T) {
	s := search{limit: 0.01, try: func(_ context.Context, _ int, offered float64) (step, error) {
		return step{Sent: offered, Received: offered / 2, Loss: 0.5}, nil
	}}
	_, err := s.find(t.Context(), 1e9)
	want := "rate: no rate found in 30 steps of which at most 1% is lost; the last, 158.74kbit, lost 50%"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if len(s.steps) != maxSteps {
		t.Errorf("%d steps, want %d", len(s.steps), maxSteps)
	}
}
