package fit

import (
	"strings"
	"testing"
	"time"
)

// recorded is a test that notes what becomes of it.
type recorded struct {
	testing.TB
	did string
}

func (r *recorded) Helper()               {}
func (r *recorded) Error(...any)          { r.note("failed") }
func (r *recorded) Errorf(string, ...any) { r.note("failed") }
func (r *recorded) Fatal(...any)          { r.note("failed") }
func (r *recorded) Fatalf(string, ...any) { r.note("failed") }
func (r *recorded) Skipf(_ string, args ...any) {
	r.note("skipped: " + args[0].(string) + ": " + args[1].(string))
}

// note keeps the first: a skip ends a test.
func (r *recorded) note(what string) {
	if r.did == "" {
		r.did = what
	}
}

// A failure counts on a machine that was fit, and is a skip with the reason on one that was not.
func TestJudging(t *testing.T) {
	now := look()
	hour := func(change func(*counters)) counters { // of a beginning an hour ago
		c := now
		c.at = c.at.Add(-time.Hour)
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		begun counters
		late  time.Duration
		want  string
	}{
		"fit":    {hour(func(*counters) {}), time.Millisecond, "failed"},
		"late":   {hour(func(*counters) {}), 60 * time.Millisecond, "skipped: a sleeper woke 60ms late"},
		"busy":   {hour(func(c *counters) { c.waiting -= 30 * time.Minute }), 0, "skipped: in 50 % of the time a task waited for a processor"},
		"stolen": {hour(func(c *counters) { c.processors, c.stolenTime = c.processors-1e6, c.stolenTime-1e5 }), 0, "skipped: 10 % of the processors' time went to other virtual machines"},
	} {
		for how, fail := range map[string]func(testing.TB){
			"Error":  func(m testing.TB) { m.Error("too slow") },
			"Errorf": func(m testing.TB) { m.Errorf("too %s", "slow") },
			"Fatal":  func(m testing.TB) { m.Fatal("too slow") },
			"Fatalf": func(m testing.TB) { m.Fatalf("too %s", "slow") },
		} {
			r := &recorded{}
			fail(&watched{TB: r, begun: c.begun, late: c.late})
			if r.did != c.want && !(strings.HasPrefix(r.did, c.want) && strings.HasSuffix(r.did, ": too slow") && c.want != "failed") {
				t.Errorf("%s: %s: %q, want %q", name, how, r.did, c.want)
			}
		}
	}
}
