package wrapper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/layer"
)

// Evidence is an action or a value that differs between programs in the wrapper and programs outside of it.
type Evidence struct {
	Name string
	// Ask holds questions to the prober, the preferred one first. The first question is used whose answer
	// outside the wrapper is not the one that is expected inside.
	Ask []string
	// On reports whether the answer inside the wrapper is as expected, given the answer outside.
	On       func(inside, outside string) bool
	Expected string // description of the expected answer
}

const allowed = "allowed" // the answer for an action that was not denied // the answer for an action that was not denied

// Denied is evidence by an action that fails inside the wrapper with one of the errnos, and not so outside.
func Denied(name string, errnos []string, actions ...string) Evidence {
	return Evidence{Name: name, Ask: actions, Expected: "denied, " + strings.Join(errnos, " or "),
		On: func(inside, _ string) bool { return slices.Contains(errnos, inside) }}
}

// Differs is evidence by a value, such as a namespace, that is another one outside the wrapper.
func Differs(name, ask string) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: "another than outside",
		On: func(inside, outside string) bool { return inside != "" && outside != "" && inside != outside }}
}

// Is is evidence by a value that is the wanted one only inside the wrapper.
func Is(name, ask, want string) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: want, On: func(inside, _ string) bool { return inside == want }}
}

// More is evidence by a number that is larger inside the wrapper than outside, by a given difference.
func More(name, ask string, difference int) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: fmt.Sprintf("%d more than outside", difference), On: func(inside, outside string) bool {
		in, err1 := strconv.Atoi(inside)
		out, err2 := strconv.Atoi(outside)
		return err1 == nil && err2 == nil && in == out+difference
	}}
}

// Without is evidence by a hexadecimal set. Inside the wrapper it has none of the given bits.
func Without(name, ask string, bits uint64) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: fmt.Sprintf("none of %#x", bits), On: func(inside, _ string) bool {
		set, err := strconv.ParseUint(inside, 16, 64)
		return err == nil && set&bits == 0
	}}
}

func words(list []Evidence) []string {
	var all []string
	for _, e := range list {
		all = append(all, e.Ask...)
	}
	return all
}

// chosen is evidence with the question that is used.
type chosen struct {
	Evidence
	ask string
}

// choose returns the evidence whose answer outside the wrapper is not the one expected inside. An action that
// this user may never do shows nothing.
func choose(list []Evidence, outside answers) []chosen {
	var all []chosen
	for _, e := range list {
		if i := slices.IndexFunc(e.Ask, func(ask string) bool { return !e.On(outside[ask], outside[ask]) }); i >= 0 {
			all = append(all, chosen{e, e.Ask[i]})
		}
	}
	return all
}

// same returns a message: the answers outside the wrapper are already those expected inside.
func same(list []Evidence, outside answers) string {
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprintf("%s (%s) is %s without it already", e.Name, e.Ask[0], outside[e.Ask[0]]))
	}
	return strings.Join(all, "; ")
}

func (c chosen) check(kind string, inside, outside answers) layer.Check {
	in, out := inside[c.ask], outside[c.ask]
	return layer.Check{Layer: kind, Name: c.Name + " (" + c.ask + ")", Expected: c.Expected, Observed: in + "; outside " + out, OK: c.On(in, out)}
}

func (c chosen) off(kind string, inside, outside answers) layer.Check {
	in := inside[c.ask]
	return layer.Check{Layer: kind, Name: c.Name + " (" + c.ask + ")", Expected: "not " + c.Expected, Observed: in, OK: in != "" && !c.On(in, outside[c.ask])}
}
