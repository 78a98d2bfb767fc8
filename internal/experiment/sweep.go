package experiment

import (
	"cmp"
	"fmt"
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
	key    string // key of the factor in a map; "": the factor is a field, not an entry of a map
	levels []string
}

// sweeps lists the factors of a config, a pointer to a struct, in the order of its fields. A factor with one level is
// listed like a factor with several levels.
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

// collect finds the factors in nested structs, and behind pointers. index leads to v: each element is a step from a
// struct to the next.
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

// hold reduces a factor of a config to one level, which is given by its index. The argument config is a pointer to a
// struct.
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

// combinations calls f with every combination of levels. Without factors, it calls f once. The last factor changes
// fastest.
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

// clone makes a deep copy of a config, a pointer to a struct. Copy and original share only unexported fields.
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

// mostFactors is the largest number of factors of a factorial design. Four factors already make 16 arms.
const mostFactors = 4

// Factor is one factor of a factorial design: layers that are turned on and off together. In the file, it is a single
// layer, or a name with a list of layers.
type Factor struct {
	Name   string      `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" form:"up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends" doc:"name of the factor; arms are named by the factors that are on: tunnel+mtls"`
	Layers []LayerItem `yaml:"layers" required:"true" doc:"the layers that are turned on and off together"`
}

// factor decodes an item of a factorial design: a map with layers, or a layer by its kind.
func (l *loader) factor(n *strictyaml.Node, path string, v reflect.Value) {
	if n.Get("layers") != nil || n.Get("name") != nil {
		var whole struct{ Factor }
		l.file.Decode(n, path, &whole)
		v.Set(reflect.ValueOf(whole.Factor))
		return
	}
	var item LayerItem
	l.layer(n, path, reflect.ValueOf(&item).Elem())
	if item.Config != nil {
		v.Set(reflect.ValueOf(Factor{Name: item.Kind, Layers: []LayerItem{item}}))
	}
}

// factorial checks a factorial design and adds its arms after the arms of the file.
func (l *loader) factorial(x *Experiment) {
	const at = "design.factorial"
	factors := x.Design.Factorial
	if !l.file.Has(at) || l.file.Troubled(at) {
		return
	}
	if n := len(factors); n < 2 || n > mostFactors {
		hint := "one layer alone is an arm: arms: [{name: plain}, {name: …, layers: […]}]"
		if n > mostFactors {
			hint = fmt.Sprintf("%d layers would make %d arms; leave some out, or give single combinations as arms", n, 1<<min(n, 20))
		}
		l.file.ReportAt(at, fmt.Sprintf("factorial has %s; expected 2 to %d", counted(n, "factor"), mostFactors), hint)
		return
	}
	if len(x.Arms) == 0 {
		return // the file has no arms, which is reported as a problem already
	}
	for i, f := range factors {
		l.factorAlone(x, i)
		for j, other := range factors[:i] {
			if f.Name == other.Name {
				l.file.ReportAt(strictyaml.Index(at, i), fmt.Sprintf("two factors are called %s", f.Name), fmt.Sprintf("the other is factorial[%d]", j))
			}
		}
		if slices.ContainsFunc(x.Arms, func(a Arm) bool { return a.Name == f.Name }) || f.Name == ControlName {
			l.file.ReportAt(strictyaml.Index(at, i), fmt.Sprintf("the arm with %s alone would have the name of another arm", f.Name), "factorial makes the arms of all combinations, also of single factors; rename the arm or leave it out")
		}
	}
	if !l.file.Troubled(at) && !l.file.Troubled("arms") {
		x.Arms = append(x.Arms, combined(x.Arms[0], factors)...)
	}
}

// factorAlone checks factor i of a factorial design. The kinds of its layers must be unique in the design and absent in
// the baseline. Parameters have a single level.
func (l *loader) factorAlone(x *Experiment, i int) {
	f := x.Design.Factorial[i]
	at := strictyaml.Index("design.factorial", i)
	if len(f.Layers) == 0 {
		l.file.ReportAt(at, fmt.Sprintf("the factor %s has no layers", f.Name), "a factor is turned on by its layers")
	}
	holders := []Factor{{Name: "the baseline", Layers: x.Arms[0].Layers}}
	for _, other := range x.Design.Factorial[:i] {
		holders = append(holders, Factor{Name: "the factor " + other.Name, Layers: other.Layers})
	}
	for j, item := range f.Layers {
		at := l.factorLayer(i, j)
		same := func(o LayerItem) bool { return o.Kind == item.Kind }
		if slices.ContainsFunc(f.Layers[:j], same) {
			l.file.ReportAt(at, fmt.Sprintf("the layer %s is twice in the factor %s", item.Kind, f.Name), "an arm takes each kind of layer once")
		}
		for _, h := range holders {
			if slices.ContainsFunc(h.Layers, same) {
				l.file.ReportAt(at, fmt.Sprintf("%s has the layer %s, too", h.Name, item.Kind), "factors are put into one arm together, and an arm takes each kind of layer once")
			}
		}
		for _, s := range swept(sweeps(item.Config)) {
			l.file.ReportAt(at, fmt.Sprintf("the factor %s cannot have several levels of %s", f.Name, s.name), "a factor is on or off; give one value")
		}
	}
}

// factorLayer returns the path of layer j of factor i. In the file, a single layer may stand in place of a list.
func (l *loader) factorLayer(i, j int) string {
	at := strictyaml.Index("design.factorial", i)
	if l.file.Has(at + ".layers") {
		return strictyaml.Index(at+".layers", j)
	}
	return at
}

// combined makes an arm for each non-empty combination of factors. The baseline's layers are innermost. Arms with fewer
// factors come first.
func combined(baseline Arm, factors []Factor) []Arm {
	var sets [][]int
	for set := 1; set < 1<<len(factors); set++ {
		var on []int
		for i := range factors {
			if set>>i&1 == 1 {
				on = append(on, i)
			}
		}
		sets = append(sets, on)
	}
	slices.SortFunc(sets, func(a, b []int) int { return cmp.Or(len(a)-len(b), slices.Compare(a, b)) })
	var arms []Arm
	for _, on := range sets {
		a := Arm{Layers: clone(baseline.Layers)}
		for _, i := range on {
			a.Factors = append(a.Factors, factors[i].Name)
			a.Layers = append(a.Layers, clone(factors[i].Layers)...)
		}
		a.Name = FileName(strings.Join(a.Factors, "+"))
		arms = append(arms, a)
	}
	return arms
}

// Combination returns the arms of a factorial design, as indices of the plan's arms. The arm at position n has factor i
// if bit i of n is set. nil: there is no factorial design.
func (p *Plan) Combination() []int {
	k := len(p.Factorial)
	if k == 0 || k > mostFactors {
		return nil
	}
	arms := slices.Repeat([]int{-1}, 1<<k)
	for a, arm := range p.Arms {
		on := 0
		for _, name := range arm.Factors {
			i := slices.Index(p.Factorial, name)
			if i < 0 {
				return nil
			}
			on |= 1 << i
		}
		if arm.Role == Baseline || arm.Role == Treatment && on > 0 {
			arms[on] = a
		}
	}
	if slices.Contains(arms, -1) {
		return nil
	}
	return arms
}

// Effects returns how many main effects and interactions on headline metrics there are. Holm's correction covers them
// together.
func (p *Plan) Effects() int {
	if p.Combination() == nil {
		return 0
	}
	return p.headlines() * (1<<len(p.Factorial) - 1)
}
