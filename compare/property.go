package compare

import (
	"maps"
	"slices"
)

// Group is what a property is a property of.
type Group string

// The groups, the most important first.
const (
	Layers    Group = "layers"
	Imported  Group = "imported facts"
	Machine   Group = "machine"
	Testbed   Group = "testbed"
	Workloads Group = "workloads"
	Tools     Group = "tools"
	Design    Group = "design"
)

var groups = []Group{Layers, Imported, Machine, Testbed, Workloads, Tools, Design}

// Property is one thing that the runs tell of themselves.
type Property struct {
	Group   Group    `json:"group"`
	Path    string   `json:"path"`            // "kernel", "wireguard: wireguard.implementation"
	Values  []string `json:"values"`          // one for each run; "": not told, or not there
	Minor   bool     `json:"minor,omitempty"` // seldom matters to what is measured
	differs bool
}

// properties collects what is told.
type properties []Property

// add takes a property up. Only the runs for which has is true are compared;
// with fewer than two of them, or none that tells anything, there is nothing to
// say.
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

// addLeaves takes up every path that any run has, with the runs whose leaves are
// not nil.
func (p *properties) addLeaves(group Group, prefix string, leaves []map[string]string) {
	all, has := map[string]bool{}, make([]bool, len(leaves))
	for i, of := range leaves {
		has[i] = of != nil
		for path := range of {
			all[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		values := make([]string, len(leaves))
		for i, of := range leaves {
			values[i] = of[path]
		}
		p.add(group, prefix+path, values, has, false)
	}
}

// apart parts what differs from what is the same, the important first, then by
// group.
func (p properties) apart() (differences, same []Property) {
	slices.SortStableFunc(p, func(a, b Property) int {
		if a.Minor != b.Minor {
			if a.Minor {
				return 1
			}
			return -1
		}
		return slices.Index(groups, a.Group) - slices.Index(groups, b.Group)
	})
	differences, same = []Property{}, []Property{}
	for _, one := range p {
		if one.differs {
			differences = append(differences, one)
		} else {
			same = append(same, one)
		}
	}
	return differences, same
}
