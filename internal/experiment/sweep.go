package experiment

import (
	"reflect"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
)

// sweep is one factor of a config: its path and its levels.
type sweep struct {
	name   string // "mtu", or the whole path if two factors share a name
	path   string // "link.mtu"
	index  [][]int
	key    string   // the key in a map of factors; "": the factor is a field
	levels []string // the levels as text
}

// sweeps lists the factors of a config, also those with a single level, in the order of its fields. config is a
// pointer to a struct.
func sweeps(config any) []sweep {
	var found []sweep
	collect(reflect.ValueOf(config).Elem(), "", nil, &found)
	count := map[string]int{}
	for _, s := range found {
		count[s.name]++
	}
	for i, s := range found {
		if count[s.name] > 1 {
			found[i].name = s.path
		}
	}
	return found
}

// collect walks nested structs and pointers to structs. Each element of index leads from one struct to the
// next.
func collect(v reflect.Value, path string, index [][]int, found *[]sweep) {
	for _, field := range strictyaml.Fields(v.Type()) {
		value := v.FieldByIndex(field.Index)
		at := strictyaml.Join(path, field.Name)
		here := append(slices.Clone(index), field.Index)
		switch {
		case factor.Is(field.Type) && value.Len() > 0:
			*found = append(*found, sweep{name: field.Factor, path: at, index: here, levels: texts(value)})
			continue
		case field.Type.Kind() == reflect.Map && factor.Is(field.Type.Elem()):
			keys := value.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, key := range keys {
				if one := value.MapIndex(key); one.Len() > 0 {
					*found = append(*found, sweep{name: key.String(), path: strictyaml.Join(at, key.String()), index: here, key: key.String(), levels: texts(one)})
				}
			}
			continue
		}
		if value.Kind() == reflect.Pointer && !value.IsNil() {
			value = value.Elem()
		}
		if value.Kind() == reflect.Struct && !strictyaml.ReadsText(value.Type()) {
			collect(value, at, here, found)
		}
	}
}

func texts(levels reflect.Value) (list []string) {
	for i := range levels.Len() {
		list = append(list, factor.Text(levels.Index(i).Interface()))
	}
	return list
}

func swept(all []sweep) []sweep {
	return slices.DeleteFunc(all, func(s sweep) bool { return len(s.levels) < 2 })
}

// hold sets a factor of a config to one of its levels. config is a pointer to a struct.
func (s sweep) hold(config any, level int) {
	v := reflect.ValueOf(config)
	for _, step := range s.index {
		v = reflect.Indirect(v).FieldByIndex(step)
	}
	if s.key == "" {
		v.Set(v.Slice(level, level+1))
		return
	}
	key := reflect.ValueOf(s.key).Convert(v.Type().Key())
	v.SetMapIndex(key, v.MapIndex(key).Slice(level, level+1))
}

func (s sweep) held(level int) factor.Level {
	return factor.Level{Factor: s.name, Value: s.levels[level]}
}

// combinations calls f with every combination of levels. The last factor changes fastest. Without factors, f is
// called once.
func combinations(factors []sweep, f func(levels []int)) {
	levels := make([]int, len(factors))
	for {
		f(levels)
		i := len(levels) - 1
		for ; i >= 0; i-- {
			if levels[i]++; levels[i] < len(factors[i].levels) {
				break
			}
			levels[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// variants returns the number of combinations, but at most maxTrials+1.
func variants(factors []sweep) int {
	n := 1
	for _, s := range factors {
		if n *= len(s.levels); n > maxTrials {
			return maxTrials + 1
		}
	}
	return n
}

// clone makes a deep copy of a config, a pointer to a struct. The copy shares only the values behind its
// unexported fields with the original.
func clone[T any](config T) T {
	return deep(reflect.ValueOf(&config).Elem()).Interface().(T)
}

func deep(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(deep(v.Elem()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deep(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(deep(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deep(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for _, key := range v.MapKeys() {
				out.SetMapIndex(key, deep(v.MapIndex(key)))
			}
		}
	}
	return out
}
