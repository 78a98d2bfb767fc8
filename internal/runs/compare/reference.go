package compare

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
)

// ParseReference parses RUN or RUN:ARM; without ARM, the arm is the baseline. RUN is the directory as the user named
// it, its last element, or the run's number from 1. Names may contain colons.
func ParseReference(text string, in []Input) (reference, error) {
	ends := []int{len(text)}
	for i, r := range text {
		if r == ':' {
			ends = append(ends, i)
		}
	}
	for _, end := range ends {
		run, err := runNamed(text[:end], in)
		if err != nil {
			return reference{}, err
		}
		if run == 0 {
			continue
		}
		plan, arm := in[run-1].Run.Plan, ""
		if end < len(text) {
			arm = text[end+1:]
		} else if arm = plan.ArmWith(experiment.Baseline); arm == "" {
			return reference{}, fmt.Errorf("run %d (%s) has no baseline: name the arm, as in %s:ARM", run, in[run-1].Name, text)
		}
		if plan.Arm(arm) == nil {
			has := strings.Join(armNames(plan), ", ")
			return reference{}, fmt.Errorf("run %d (%s) has no arm %q; it has %s", run, in[run-1].Name, arm, has)
		}
		return reference{Run: run, Arm: arm}, nil
	}
	return reference{}, fmt.Errorf("reference %q names none of the runs; write RUN or RUN:ARM, where RUN is a directory, the last element of its path, or a number from 1 to %d", text, len(in))
}

func runNamed(name string, in []Input) (int, error) {
	if i := slices.IndexFunc(in, func(r Input) bool { return r.Name == name }); i >= 0 {
		return i + 1, nil
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(in) {
		return n, nil
	}
	var found []string
	last := 0
	for i, r := range in {
		if name != "" && filepath.Base(filepath.Clean(r.Name)) == strings.TrimSuffix(name, "/") {
			found, last = append(found, strconv.Itoa(i+1)), i+1
		}
	}
	if n := len(found) - 1; n > 0 {
		return 0, fmt.Errorf("%q is the name of runs %s and %s; use the number", name, strings.Join(found[:n], ", "), found[n])
	}
	return last, nil
}

// ParseMatch parses OLD=NEW, two names of treatments. Names may contain an = ("seccomp[rules=8]").
func ParseMatch(text string, in []Input) (match, error) {
	known := func(name string) bool { return firstWith(in, name) >= 0 }
	cuts := 0
	for i, r := range text {
		if r != '=' {
			continue
		}
		cuts++
		m := match{Old: text[:i], New: text[i+1:]}
		if m.Old != m.New && known(m.Old) && known(m.New) {
			return m, nil
		}
	}
	if cuts == 0 {
		return match{}, fmt.Errorf("match %q: write OLD=NEW, two arms", text)
	}
	var list []string
	for i, r := range in {
		names := slices.DeleteFunc(armNames(r.Run.Plan), func(name string) bool { return !treatment(r.Run.Plan, name) })
		list = append(list, fmt.Sprintf("run %d has %s", i+1, cmp.Or(strings.Join(names, ", "), "none")))
	}
	return match{}, fmt.Errorf("match %q does not name two different treatments: %s", text, strings.Join(list, "; "))
}
