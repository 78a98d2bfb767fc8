// Package labels gives the arms, cells, metrics and units of a result the names that people see.
//
// Identifiers such as "seccomp[rules=64]", "http.rate=50_s" and "request-cpu" never change. They stand in files, gates,
// CSV and JSON. Views for people show "seccomp with 64 rules", "50 requests/s" and "CPU time per request". The words
// come from the experiment file (label:) or from words.go.
package labels

import (
	"cmp"
	"reflect"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/text/safetext"
)

// Shown returns a copy of a result with labels in place of identifiers. An identifier that is in no plan of the runs
// stays, made safe to print. JSON names tell which fields hold identifiers.
func Shown[T any](result *T, plans ...*experiment.Plan) *T {
	n := &names{arms: map[string]string{}, cells: map[string]string{}, kinds: map[string]string{}, metrics: map[string]string{}}
	for _, p := range plans {
		if p != nil {
			n.add(p)
		}
	}
	distinct(n.arms)
	distinct(n.cells)
	distinct(n.metrics)
	return n.copy(reflect.ValueOf(result), "", "").Interface().(*T)
}

// names holds the labels of arms, cells and metrics from several plans.
type names struct {
	arms    map[string]string // labels by the arm's name
	cells   map[string]string // labels by the cell's ID
	kinds   map[string]string // kind of workload by the cell's ID
	metrics map[string]string // labels from experiment files; key: kind of workload, zero byte, name of the metric
}

func (n *names) add(p *experiment.Plan) {
	for _, a := range p.Arms {
		name, _, _ := strings.Cut(a.Name, "[")
		label := labelOr(a.Label, name)
		n.arms[name] = label // results over all levels of an arm name the arm without a level
		if len(a.Levels) > 0 {
			n.arms[a.Name] = label + " with " + Levels("", a.Levels, " and ")
		}
	}
	workloads, varied := map[string]bool{}, map[string]string{} // varied: a factor's value; "": the factor has several values
	for _, c := range p.Cells {
		workloads[c.Workload] = true
		for _, l := range c.Levels {
			key := c.Workload + " " + l.Factor
			if value, known := varied[key]; known && value != l.Value {
				varied[key] = ""
			} else if !known {
				varied[key] = l.Value
			}
		}
	}
	for _, c := range p.Cells {
		n.kinds[c.ID] = c.Kind
		for _, m := range c.Metrics {
			if m.Label != "" {
				n.metrics[c.Kind+"\x00"+m.Name] = safetext.Line(m.Label)
			}
		}
		n.cells[c.ID] = c.ID
		if p.Import == nil {
			var some []factor.Level
			for _, l := range c.Levels {
				if varied[c.Workload+" "+l.Factor] == "" {
					some = append(some, l)
				}
			}
			parts := []string{labelOr(c.Label, c.Workload), Levels(c.Kind, some, ", ")}
			switch {
			case len(some) == 0:
				parts = parts[:1]
			case len(workloads) == 1:
				parts = parts[1:]
			}
			n.cells[c.ID] = strings.Join(parts, ", ")
		}
	}
}

// distinct finds labels that several identifiers share. It replaces each of these labels by the identifier itself.
func distinct(labels map[string]string) {
	taken := map[string]int{}
	for _, label := range labels {
		taken[label]++
	}
	for id, label := range labels {
		if taken[label] > 1 {
			labels[id] = safetext.Line(id[strings.LastIndex(id, "\x00")+1:])
		}
	}
}

// labelOr returns the label, made safe to print. With label = "", it returns the identifier instead.
func labelOr(label, id string) string {
	return safetext.Line(cmp.Or(label, id))
}

// copy returns a copy of v with labels in place of identifiers. field is the JSON name of v's field. kind is the kind
// of workload of v's cell; "": none or several.
func (n *names) copy(v reflect.Value, field, kind string) reflect.Value {
	if !named(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || field == "run" { // callers find a run by its pointer, so the pointer is kept
			return v
		}
		element := n.copy(v.Elem(), field, kind)
		out := reflect.New(element.Type())
		out.Elem().Set(element)
		if v.Kind() == reflect.Pointer {
			return out
		}
		return out.Elem().Convert(v.Type())
	case reflect.Struct:
		return n.structure(v, field, kind)
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(n.copy(v.Index(i), strings.TrimSuffix(field, "s"), kind))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			if key.Kind() == reflect.String {
				key = n.copy(key, strings.TrimSuffix(field, "s"), kind)
			}
			out.SetMapIndex(key, n.copy(value, "", kind))
		}
		return out
	case reflect.String:
		out := reflect.New(v.Type()).Elem()
		out.SetString(n.label(field, v.String(), kind))
		return out
	}
	return v
}

func (n *names) structure(v reflect.Value, field, kind string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	if m, ok := out.Addr().Interface().(*experiment.Metric); ok {
		m.Name, m.Unit, m.Objective = n.metric(kind, m.Name), rateUnit(kind, m.Name, m.Unit), safetext.Line(m.Objective)
		return out
	}
	fields := map[string]int{} // indices of exported fields by the fields' names
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "id" && field == "cell":
				name = "cell"
			case name == "name" && field == "arm":
				name = "arm"
			case name == "" || name == "-":
				name = f.Name // a field without a JSON name is listed under its Go name, which never gets a label
			}
			fields[name] = i
		}
	}
	for _, name := range []string{"cell", "cells"} {
		if i, ok := fields[name]; ok {
			kind = n.kindOf(v.Field(i), kind)
		}
	}
	for name, i := range fields {
		out.Field(i).Set(n.copy(v.Field(i), name, kind))
	}
	return out
}

// kindOf returns the kind of workload of the cell that v names, or of the first cell in a list. For an unknown cell, it
// returns the argument kind.
func (n *names) kindOf(v reflect.Value, kind string) string {
	if v.Kind() == reflect.Slice && v.Len() > 0 {
		v = v.Index(0)
	}
	if v.Kind() == reflect.String {
		if k, known := n.kinds[v.String()]; known {
			return k
		}
	}
	return kind
}

// label returns the label of an identifier. Field is the name in JSON of the field that contains the identifier.
func (n *names) label(field, id, kind string) string {
	of := map[string]map[string]string{"arm": n.arms, "baseline": n.arms, "against": n.arms, "cell": n.cells}[field]
	switch {
	case id == "":
		return ""
	case field == "metric":
		return n.metric(kind, id)
	case field == "unit":
		return rateUnit(kind, "", id)
	case of == nil:
		return id
	case of[id] != "":
		return of[id]
	}
	return safetext.Line(id)
}

func (n *names) metric(kind, name string) string {
	if label := n.metrics[kind+"\x00"+name]; label != "" {
		return label
	}
	return Metric(kind, name)
}

// named reports whether values of a type can hold an identifier.
func named(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Float64, reflect.Float32, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Func, reflect.Chan:
		return false
	case reflect.Slice:
		return named(t.Elem())
	}
	return t.PkgPath() != "time"
}
