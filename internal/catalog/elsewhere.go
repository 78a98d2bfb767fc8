package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tare/examples"
	"tare/internal/experiment"
	"tare/internal/experiment/strictyaml"
)

// elsewhere returns a hint for the name of an unknown layer or workload: the kind that has a parameter of this
// name or runs a program of this name, or the examples named after it.
func elsewhere(what, name string) string {
	name = strings.ToLower(name)
	if len(name) < 3 {
		return ""
	}
	if text := within(what, name); text != "" {
		return text
	}
	files, _ := examples.Names() // without the examples' names there is no hint
	files = slices.DeleteFunc(files, func(file string) bool { return !strings.Contains(file, name) })
	if len(files) == 0 {
		return ""
	}
	return fmt.Sprintf("tare list examples %s shows how %s is measured", files[0], name)
}

// within names the kind of layer or workload that has a parameter of this name, or runs a program of this name.
func within(what, name string) string {
	configs := map[string]interface{ Declare() experiment.Declaration }{}
	switch what {
	case "layer":
		for _, l := range Layers {
			configs[l.Name] = l.New()
		}
	case "workload":
		for _, w := range Workloads {
			configs[w.Name] = w.New()
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(configs)) {
		if text := has(what, kind, configs[kind], name); text != "" {
			return text
		}
	}
	return ""
}

// has describes the parameter of this name, or the program of this name, that a kind has; "" if it has neither.
func has(what, kind string, config interface{ Declare() experiment.Declaration }, name string) string {
	for _, f := range strictyaml.Fields(reflect.TypeOf(config).Elem()) {
		if strings.EqualFold(f.Name, name) || strings.EqualFold(f.Also, name) {
			return fmt.Sprintf("%s is a parameter of the %s %s: write %s: {%s: …}", f.Name, what, kind, kind, f.Name)
		}
	}
	if slices.ContainsFunc(config.Declare().Tools, func(t experiment.Tool) bool { return t.Name == name }) {
		return fmt.Sprintf("the %s %s runs %s", what, kind, name)
	}
	return ""
}
