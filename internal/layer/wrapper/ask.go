package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"tare/internal/layer/evidence"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// Prober is the name of the helper that is the prober. It is also the helper of the layer wrap.
const Prober = "wrap"

// ProbeFile is the beginning of the names of the files that the prober creates (write:DIR).
const ProbeFile = ".tare-probe-"

// question is the input of the prober. At most one field is set.
type question struct {
	Ask  []string      `json:"ask,omitempty"`  // actions to try and values to read
	Burn time.Duration `json:"burn,omitempty"` // CPU time to use
	Echo string        `json:"echo,omitempty"` // text to answer with
}

type answers map[string]string

// Try runs the prober at a place, as a subject. It returns the answers to words of look's list: "allowed",
// the name of an errno, or a value.
func Try(ctx context.Context, site testbed.Site, where testbed.Place, words ...string) (map[string]string, error) {
	return ask(ctx, site, where, true, words)
}

func ask(ctx context.Context, site testbed.Site, where testbed.Place, subject bool, words []string) (answers, error) {
	text, err := output(ctx, site, where, subject, question{Ask: words})
	if err != nil {
		return nil, err
	}
	found := answers{}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("the prober answered %s, which is not JSON: %w", evidence.Quote(text), err)
	}
	return found, nil
}

// output runs the prober, as a subject or else without wrappers, and returns its output.
func output(ctx context.Context, site testbed.Site, where testbed.Place, subject bool, q question) (string, error) {
	cmd, err := helperrpc.Command(site, where, Prober, q)
	if err != nil {
		return "", err
	}
	cmd.Subject = subject
	return evidence.Output(ctx, site, where, cmd, evidence.Limit)
}

// run runs the prober as a subject, and returns the CPU time and memory that it used.
func run(ctx context.Context, site testbed.Site, where testbed.Place, q question) (testbed.Usage, error) {
	cmd, err := helperrpc.Command(site, where, Prober, q)
	if err != nil {
		return testbed.Usage{}, err
	}
	cmd.Subject = true
	ctx, cancel := context.WithTimeout(ctx, evidence.Limit)
	defer cancel()
	return testbed.Run(ctx, site, where, cmd)
}

// Probe is the prober. It answers the question on its standard input.
var Probe = helperrpc.Reading("read the question", func(_ context.Context, q question) error {
	switch {
	case q.Echo != "":
		_, err := os.Stdout.WriteString(answerTo(q.Echo))
		return err
	case q.Burn > 0:
		return spend(q.Burn)
	}
	found := answers{}
	for _, word := range q.Ask {
		found[word] = look(word)
	}
	return json.NewEncoder(os.Stdout).Encode(found)
})

func answerTo(mark string) string { return "started: " + mark }

// spend uses CPU time, by the clock of the kernel that this process runs on, which may be a sandbox's.
func spend(wanted time.Duration) error {
	for begun := time.Now(); ; {
		used, err := ownTime()
		if err != nil || used >= wanted {
			return err
		}
		if time.Since(begun) > evidence.Limit/2 {
			return errors.New("the clock of CPU time does not advance")
		}
		sum := 0
		for i := range 1 << 20 {
			sum += i
		}
		runtime.KeepAlive(sum) // keeps the compiler from removing the loop
	}
}
