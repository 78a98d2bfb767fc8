package experiment

import (
	"reflect"
	"slices"

	"tare/internal/experiment/factor"
)

// Aspect is a part of programs' behaviour besides their speed. Tare compares the arms' aspects before their
// speed.
type Aspect string

// The aspects, in the order of their importance to a reader.
const (
	Stderr  Aspect = "stderr"  // the text that programs print on stderr
	Exit    Aspect = "exit"    // the programs' exit statuses
	Output  Aspect = "output"  // the amount of the programs' text on stdout, or the text itself
	Answers Aspect = "answers" // the responses of a server
	Files   Aspect = "files"   // the files that programs should create
)

// Aspects lists all aspects.
var Aspects = []Aspect{Stderr, Exit, Output, Answers, Files}

// Values lists the names of the aspects.
func (Aspect) Values() (names []string) {
	for _, a := range Aspects {
		names = append(names, string(a))
	}
	return names
}

// allowed returns the aspects in which an arm may differ from the baseline. The file allows aspects for this
// arm, or for all arms.
func allowed(x *Experiment, a Arm) (list []Aspect) {
	for _, aspect := range Aspects {
		if slices.Contains(a.Allow, aspect) || slices.Contains(x.Allow, string(aspect)) {
			list = append(list, aspect)
		}
	}
	return list
}

// replaces reports whether an arm runs another program than the baseline.
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

// oneOrMore is a list. A list of one item may be written as the item alone.
type oneOrMore[T any] = factor.Levels[T]
