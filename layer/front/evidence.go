package front

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/layer"
)

// Evidence is something that looks one way behind a front and another way outside of it.
type Evidence struct {
	Name string
	// Ask are what the prober is asked, in the order of preference: the first is taken whose
	// answer outside is not what it would be behind the front.
	Ask []string
	// On says whether an answer is what is to be seen behind the front, given the one outside.
	On func(inside, outside string) bool
	// Expected says in words what that is.
	Expected string
}

// allowed is the answer to an action that was not denied.
const allowed = "allowed"

// Denied is an action that is denied with one of the errnos behind the front. Outside it is
// allowed, or fails in another way, as one that was asked with arguments that make no sense.
func Denied(name string, errnos []string, actions ...string) Evidence {
	return Evidence{Name: name, Ask: actions, Expected: "denied, " + strings.Join(errnos, " or "),
		On: func(inside, _ string) bool { return slices.Contains(errnos, inside) }}
}

// Differs is something that is another behind the front, such as a namespace.
func Differs(name, ask string) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: "another than outside",
		On: func(inside, outside string) bool { return inside != "" && outside != "" && inside != outside }}
}

// Is is something that has a value behind the front, and another outside.
func Is(name, ask, want string) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: want, On: func(inside, _ string) bool { return inside == want }}
}

// More is a number that is larger by so much behind the front.
func More(name, ask string, by int) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: fmt.Sprintf("%d more than outside", by), On: func(inside, outside string) bool {
		in, err1 := strconv.Atoi(inside)
		out, err2 := strconv.Atoi(outside)
		return err1 == nil && err2 == nil && in == out+by
	}}
}

// Without is a set of bits, in hexadecimal, in which these are not set behind the front, and some
// are outside.
func Without(name, ask string, bits uint64) Evidence {
	return Evidence{Name: name, Ask: []string{ask}, Expected: fmt.Sprintf("none of %#x", bits), On: func(inside, _ string) bool {
		set, err := strconv.ParseUint(inside, 16, 64)
		return err == nil && set&bits == 0
	}}
}

// words are all that the prober is asked.
func words(list []Evidence) []string {
	var all []string
	for _, e := range list {
		all = append(all, e.Ask...)
	}
	return all
}

// chosen is evidence with the question that is taken.
type chosen struct {
	Evidence
	ask string
}

// choose takes what looks otherwise outside. An action that this user may not do in any case
// shows nothing.
func choose(list []Evidence, outside answers) []chosen {
	var all []chosen
	for _, e := range list {
		if i := slices.IndexFunc(e.Ask, func(ask string) bool { return !e.On(outside[ask], outside[ask]) }); i >= 0 {
			all = append(all, chosen{e, e.Ask[i]})
		}
	}
	return all
}

// same says that all evidence looks outside as it would behind the front.
func same(list []Evidence, outside answers) string {
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprintf("%s (%s) is %s without it already", e.Name, e.Ask[0], outside[e.Ask[0]]))
	}
	return strings.Join(all, "; ")
}

// check is the evidence that the layer is on.
func (c chosen) check(kind string, inside, outside answers) layer.Check {
	in, out := inside[c.ask], outside[c.ask]
	return layer.Check{Layer: kind, Name: c.Name + " (" + c.ask + ")", Expected: c.Expected, Observed: in + "; outside " + out, OK: c.On(in, out)}
}

// off is the evidence that it is not.
func (c chosen) off(kind string, inside, outside answers) layer.Check {
	in := inside[c.ask]
	return layer.Check{Layer: kind, Name: c.Name + " (" + c.ask + ")", Expected: "not " + c.Expected, Observed: in, OK: in != "" && !c.On(in, outside[c.ask])}
}
