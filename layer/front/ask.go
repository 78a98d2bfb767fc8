package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"tare/layer/evidence"
	"tare/testbed"
)

// Prober is the name of the helper that is the prober: that of the layer wrap.
const Prober = "wrap"

// ProbeFile begins the names of the files that the prober makes (write:DIR).
const ProbeFile = ".tare-probe-"

// question is what the prober is asked, on its standard input. One of its fields is set, or none.
type question struct {
	Ask  []string      `json:"ask,omitempty"`  // what to try and to read
	Burn time.Duration `json:"burn,omitempty"` // CPU time to use
	Echo string        `json:"echo,omitempty"` // text to answer with
}

// answers are what the prober has found, by what it was asked.
type answers map[string]string

// Try has the prober at a place do what words of look's list say, as a program under test, and
// gives its answers: "allowed", or the name of an errno.
func Try(ctx context.Context, site testbed.Site, where testbed.Place, words ...string) (map[string]string, error) {
	return ask(ctx, site, where, true, words)
}

// ask has the prober at a place look, as a program under test or as it is.
func ask(ctx context.Context, site testbed.Site, where testbed.Place, subject bool, words []string) (answers, error) {
	text, err := start(ctx, site, where, subject, question{Ask: words})
	if err != nil {
		return nil, err
	}
	found := answers{}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("the prober answered %s, which is not JSON: %w", evidence.Quote(text), err)
	}
	return found, nil
}

// start has it answer a question, and gives what it prints.
func start(ctx context.Context, site testbed.Site, where testbed.Place, subject bool, q question) (string, error) {
	cmd, err := prober(site, where, subject, q)
	if err != nil {
		return "", err
	}
	return evidence.Output(ctx, site, where, cmd, evidence.Limit)
}

// run is what the prober uses, as a program under test.
func run(ctx context.Context, site testbed.Site, where testbed.Place, q question) (testbed.Usage, error) {
	cmd, err := prober(site, where, true, q)
	if err != nil {
		return testbed.Usage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, evidence.Limit)
	defer cancel()
	process, err := site.Start(ctx, where, cmd)
	if err != nil {
		return testbed.Usage{}, err
	}
	return process.Wait()
}

func prober(site testbed.Site, where testbed.Place, subject bool, q question) (testbed.Command, error) {
	text, err := json.Marshal(q)
	cmd := testbed.HelperAt(site, where, Prober)
	cmd.Stdin, cmd.Subject = bytes.NewReader(text), subject
	return cmd, err
}

// Probe is the prober: it answers the question on its standard input.
func Probe(context.Context) error {
	var q question
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
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
}

func answerTo(mark string) string { return "started: " + mark }

// spend uses CPU time, by the clock of the kernel that it runs on.
func spend(much time.Duration) error {
	for begun := time.Now(); ; {
		used, err := ownTime()
		if err != nil || used >= much {
			return err
		}
		if time.Since(begun) > evidence.Limit/2 {
			return errors.New("the clock of CPU time stands still")
		}
		sum := 0
		for i := range 1 << 20 {
			sum += i
		}
		runtime.KeepAlive(sum) // so that the loop is not left out
	}
}
