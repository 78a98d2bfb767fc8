package compare

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/lists"
)

// Group is the kind of object that a property belongs to.
type Group string

// The groups of properties, the most important group first.
const (
	layers    Group = "layers"
	imported  Group = "imported facts"
	Machine   Group = "machine"
	testbeds  Group = "testbed"
	workloads Group = "workloads"
	tools     Group = "tools"
	design    Group = "design"
)

var groups = []Group{layers, imported, Machine, testbeds, workloads, tools, design}

// Property is one fact that runs record about themselves, with its value in each run.
type Property struct {
	Group   Group    `json:"group"`
	Path    string   `json:"path"`            // name of the property, such as "kernel" or "wireguard: wireguard.implementation"
	Values  []string `json:"values"`          // one per run; "": unknown, or absent
	Minor   bool     `json:"minor,omitempty"` // set if the property seldom affects measurements
	Limit   bool     `json:"-"`               // set for a time limit, which affects only trials that fail
	differs bool
}

type properties []Property

// add adds a property with its value in each run, if two runs are compared and one has a value. has[i] is true if run i
// is compared.
func (p *properties) add(group Group, path string, values []string, has []bool, minor bool) {
	var known []string
	for i, v := range values {
		if has[i] {
			known = append(known, v)
		}
	}
	if len(known) < 2 {
		return
	}
	if known = slices.Compact(known); len(known) == 1 && known[0] == "" {
		return
	}
	*p = append(*p, Property{Group: group, Path: path, Values: values, Minor: minor, differs: len(known) > 1})
}

// addLeaves adds a property for each path that any run's map has. A run whose map is nil takes no part in the
// comparison.
func (p *properties) addLeaves(group Group, prefix string, leaves []map[string]string) {
	all, has := map[string]bool{}, make([]bool, len(leaves))
	for i, of := range leaves {
		has[i] = of != nil
		for path := range of {
			all[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		values := lists.Map(leaves, func(of map[string]string) string { return of[path] })
		p.add(group, prefix+path, values, has, false)
	}
}

// Differing returns the properties whose values differ between the maps, sorted by path. A nil map is not compared.
func Differing(leaves ...map[string]string) []Property {
	var p properties
	p.addLeaves("", "", leaves)
	return slices.DeleteFunc(p, func(one Property) bool { return !one.differs })
}

// split separates differing from equal properties. Both lists have the important properties first, and are then sorted
// by group.
func (p properties) split() (differences, same []Property) {
	rank := func(p Property) int {
		if p.Minor {
			return len(groups) + slices.Index(groups, p.Group)
		}
		return slices.Index(groups, p.Group)
	}
	slices.SortStableFunc(p, func(a, b Property) int { return rank(a) - rank(b) })
	same = slices.DeleteFunc(append([]Property{}, p...), func(one Property) bool { return one.differs })
	return slices.DeleteFunc(append([]Property{}, p...), func(one Property) bool { return !one.differs }), same
}

// mostDepth is the largest depth of nested parameters; deeper parameters are compared as JSON.
const mostDepth = 16

// Flatten returns the leaves of parameters by path, such as "1500" for "link.mtu". A list of plain values is one leaf.
// Parameters that JSON cannot hold have none.
func Flatten(parameters any) map[string]string {
	leaves := map[string]string{}
	data, err := json.Marshal(parameters)
	if err != nil {
		return leaves
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		leaf(leaves, "", v, 0)
	}
	return leaves
}

func leaf(leaves map[string]string, path string, v any, depth int) {
	below := func(key string) string {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	switch t := v.(type) {
	case map[string]any:
		if depth < mostDepth {
			for k, v := range t {
				leaf(leaves, below(k), v, depth+1)
			}
			return
		}
	case []any:
		if depth < mostDepth && slices.ContainsFunc(t, compound) {
			for i, v := range t {
				leaf(leaves, below(strconv.Itoa(i+1)), v, depth+1)
			}
			return
		}
		words := lists.Map(t, scalar)
		leaves[path] = strings.Join(words, ", ")
		return
	}
	leaves[path] = scalar(v)
}

func compound(v any) bool {
	_, isMap := v.(map[string]any)
	_, isList := v.([]any)
	return isMap || isList
}

// scalar formats a value as an experiment file writes it; null becomes "".
func scalar(v any) string {
	switch t := v.(type) {
	case nil:
		return ""
	case string:
		return t
	case json.Number:
		return t.String()
	}
	data, _ := json.Marshal(v) // no error is possible, because the value was read from JSON
	return string(data)
}

// Properties compares the properties of runs and aligns their cells. It fills Runs, Differences, Same, Unknown and
// Apart. Runs that share their trials, or have no common cell, are an error.
func Properties(in []Input) (*Result, error) {
	c, _, err := begin(in, Options{})
	if err != nil {
		return nil, err
	}
	return c.result, nil
}

// InQuestion reports whether a property belongs to the question of a run: layers, workloads and testbed (but see
// experiment.OutsideQuestion), confidence, margin, and the format of imports.
func (p Property) InQuestion() bool {
	switch p.Group {
	case layers, testbeds, workloads:
		return !p.Minor
	case design:
		return p.Path == designConfidence || p.Path == designMargin
	case imported:
		return p.Path == importFormat
	}
	return false
}

// AffectsResult reports whether a property outside the question may affect the result: the slicing, and time limits if
// some trials failed.
func (p Property) AffectsResult(failed bool) bool {
	return p.Group == design && p.Path == designSlices || p.Limit && failed
}

const (
	designConfidence = "confidence"
	designMargin     = "equivalence margin"
	designSlices     = "slices"
	importFormat     = "format"
)
