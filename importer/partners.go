package importer

import (
	"fmt"
	"slices"
	"strings"
)

// partners remarks on rounds that one of two arms lacks: their trials are in the
// run, and in no comparison. Where nothing has a partner, the pairing is wrong.
func (r *run) partners(arms []*arm) error {
	if r.PairBy.how == "" || len(arms) < 2 {
		return nil
	}
	base := arms[0]
	paired := 0
	for _, a := range arms[1:] {
		left := append(r.alone(a, base), r.alone(base, a)...)
		paired += common(a, base)
		r.result.Remarks = append(r.result.Remarks, left...)
	}
	if paired == 0 {
		return misuse("without --pair-by the trials are independent samples", "nothing pairs by %s: %s has no round in common with another arm%s",
			r.PairBy, base.name, r.examples(base, arms[1]))
	}
	return nil
}

// alone says which rounds of an arm another one lacks.
func (r *run) alone(a, other *arm) []string {
	var rounds []int
	for round := range a.rounds {
		if !other.rounds[round] {
			rounds = append(rounds, round)
		}
	}
	if len(rounds) == 0 {
		return nil
	}
	slices.Sort(rounds)
	return []string{fmt.Sprintf("%d of the %s of %s have no partner in %s: %s", len(rounds), plural(len(a.rounds), "round"), a.name, other.name, r.named(rounds))}
}

// named names the first few rounds by what their files have in common.
func (r *run) named(rounds []int) string {
	const most = 3
	var names []string
	for _, round := range rounds[:min(len(rounds), most)] {
		if r.keys == nil {
			names = append(names, fmt.Sprint(round))
		} else {
			names = append(names, r.rounds.labels[round-1])
		}
	}
	if len(rounds) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// examples shows what was compared in vain.
func (r *run) examples(a, b *arm) string {
	first := func(x *arm) string {
		least := 0
		for round := range x.rounds {
			if least == 0 || round < least {
				least = round
			}
		}
		return r.named([]int{least})
	}
	return fmt.Sprintf(" (%s has %s, %s has %s)", a.name, first(a), b.name, first(b))
}

func common(a, b *arm) int {
	n := 0
	for round := range a.rounds {
		if b.rounds[round] {
			n++
		}
	}
	return n
}
