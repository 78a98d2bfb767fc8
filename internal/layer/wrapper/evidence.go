package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// Evidence is an action or a value that shows whether the prober runs inside the wrapper.
type Evidence struct {
	Name string
	// Ask holds questions to the prober, the best first. Tare uses the first question whose answer outside the wrapper
	// differs from the answer expected inside.
	Ask []string
	// On reports whether the answer inside the wrapper is as expected, given the answer outside.
	On       func(inside, outside string) bool
	Expected string // description of the expected answer
}

const allowed = "allowed" // answer for an action that was not denied

// Denied returns evidence by actions that the wrapper denies. Inside the wrapper, the action fails with one of the
// errnos. Outside, it does not.
func Denied(name string, errnos []string, actions ...string) Evidence {
	return Evidence{Name: name, Ask: actions, Expected: "denied, " + strings.Join(errnos, " or "),
		On: func(inside, _ string) bool { return slices.Contains(errnos, inside) }}
}

// Differs is evidence by a value, such as a namespace, that differs inside and outside the wrapper.
func Differs(name, ask string) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: "another than outside",
		On: func(inside, outside string) bool { return inside != "" && outside != "" && inside != outside }}
}

// Is returns evidence by an answer of the prober: inside the wrapper the value of ask equals want, and outside it
// differs.
func Is(name, ask, want string) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: want, On: func(inside, _ string) bool { return inside == want }}
}

// More is evidence by a number: inside the wrapper, the number must be larger than outside by the given difference.
func More(name, ask string, difference int) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: fmt.Sprintf("%d more than outside", difference), On: func(inside, outside string) bool {
		in, err1 := strconv.Atoi(inside)
		out, err2 := strconv.Atoi(outside)
		return err1 == nil && err2 == nil && in == out+difference
	}}
}

// Without returns evidence from a set of bits, such as capabilities. The set that is read inside the wrapper, in
// hexadecimal, must contain none of the given bits.
func Without(name, ask string, bits uint64) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: fmt.Sprintf("none of %#x", bits), On: func(inside, _ string) bool {
		set, err := strconv.ParseUint(inside, 16, 64)
		return err == nil && set&bits == 0
	}}
}

func words(list []Evidence) []string {
	return slices.Concat(lists.Map(list, func(e Evidence) []string { return e.Ask })...)
}

// choose returns the evidence whose answer outside the wrapper differs from the answer expected inside. Each piece
// keeps only its first question with this difference.
func choose(list []Evidence, outside answers) (chosen []Evidence) {
	for _, e := range list {
		if i := slices.IndexFunc(e.Ask, func(ask string) bool { return !e.On(outside[ask], outside[ask]) }); i >= 0 {
			e.Ask = e.Ask[i : i+1]
			chosen = append(chosen, e)
		}
	}
	return chosen
}

func same(list []Evidence, outside answers) string {
	return strings.Join(lists.Map(list, func(e Evidence) string {
		return fmt.Sprintf("%s (%s) is %s without it already", e.Name, e.Ask[0], outside[e.Ask[0]])
	}), "; ")
}

func (e Evidence) check(kind string, inside, outside answers) layer.Check {
	in, out := inside[e.Ask[0]], outside[e.Ask[0]]
	return layer.Check{Layer: kind, Name: e.Name + " (" + e.Ask[0] + ")", Expected: e.Expected, Observed: in + "; outside " + out, OK: e.On(in, out)}
}

func (e Evidence) off(kind string, inside, outside answers) layer.Check {
	c := e.check(kind, inside, outside)
	c.Expected, c.Observed = "not "+c.Expected, inside[e.Ask[0]]
	c.OK = c.Observed != "" && !c.OK
	return c
}

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

// Try runs the prober at a place, as a subject. Each word asks for an action or a fact (see the function look). The
// answer is "allowed", the name of an errno, or a value.
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

// output runs the prober and returns its output. With subject = false, the prober runs outside the wrappers.
func output(ctx context.Context, site testbed.Site, where testbed.Place, subject bool, q question) (string, error) {
	cmd, err := helperrpc.Command(site, where, Prober, q)
	if err != nil {
		return "", err
	}
	cmd.Subject = subject
	return evidence.Output(ctx, site, where, cmd, evidence.Limit)
}

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

// spend uses an amount of CPU time. It reads the clock of the kernel that this process sees, which may be a sandbox's.
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
		runtime.KeepAlive(sum) // so that the compiler does not remove the loop
	}
}
