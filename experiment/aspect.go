package experiment

import (
	"reflect"
	"slices"

	"tare/experiment/factor"
)

// Aspect is a part of what programs do besides being fast or slow. Arms are compared by it before
// their speed is.
type Aspect string

// The aspects, in the order in which a reader must know of them.
const (
	Stderr  Aspect = "stderr"  // what they print there
	Exit    Aspect = "exit"    // their exit statuses
	Output  Aspect = "output"  // how much they print on stdout, or what
	Answers Aspect = "answers" // how a server answers
	Files   Aspect = "files"   // files that they were to make
)

// Aspects are all of them.
var Aspects = []Aspect{Stderr, Exit, Output, Answers, Files}

// Values lists the aspects.
func (Aspect) Values() (names []string) {
	for _, a := range Aspects {
		names = append(names, string(a))
	}
	return names
}

// allowed are the aspects in which an arm may differ from the baseline: its own, and those that
// the file allows in all arms.
func allowed(x *Experiment, a Arm) (list []Aspect) {
	for _, aspect := range Aspects {
		if slices.Contains(a.Allow, aspect) || slices.Contains(x.Allow, string(aspect)) {
			list = append(list, aspect)
		}
	}
	return list
}

// replaces says whether an arm runs another program than the baseline.
func replaces(baseline, a Arm) bool {
	programs := func(a Arm) (list []LayerConfig) {
		for _, item := range a.Layers {
			if item.Config.Declare().Replaces {
				list = append(list, item.Config)
			}
		}
		return list
	}
	return !reflect.DeepEqual(programs(baseline), programs(a))
}

// OneOrMore is a list that may be written as its only item.
type OneOrMore[T any] = factor.Levels[T]
