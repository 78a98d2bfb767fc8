package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
	"tare/internal/lists"
)

// Users choose the names of factors: a level of the factor rules replaces $(rules) in the texts. Beside texts, a level
// can set the length of a list or the number of objects.

const itemNumber = "$(item)" // placeholder for the number, from 1, of a list's item or of an object's copy

const maxItems = 1000 // largest number of items in a repeated list, and of copies of one object

// filled returns the layer with each factor's placeholder replaced by the factor's level. Of several levels, the first
// is taken.
func (c *config) filled() *config {
	held := factor.Named{}
	for name, levels := range c.Factors {
		if len(levels) > 0 {
			held[name] = levels[:1]
		}
	}
	fill, out := factor.Filler(held), *c
	out.Factors, out.Inline = nil, strictyaml.Document(fill.Replace(string(c.Inline)))
	out.Files, out.Wait, out.Repeat = slices.Clone(c.Files), slices.Clone(c.Wait), maps.Clone(c.Repeat)
	for i := range out.Files {
		out.Files[i].Text = fill.Replace(out.Files[i].Text)
	}
	for i := range out.Wait {
		w := &out.Wait[i]
		for _, text := range []*string{&w.Kind, &w.Name, &w.APIVersion, &w.Namespace, &w.Condition} {
			*text = fill.Replace(*text)
		}
	}
	for path, by := range out.Repeat {
		if level, is := held[string(by)]; is {
			out.Repeat[path] = level.One()
		}
	}
	return &out
}

// variants returns the layer with all factors at their first level. One layer follows for each further level of a
// factor, with the other factors at their first level.
func (c *config) variants() []*config {
	list := []*config{c.filled()}
	for _, name := range slices.Sorted(maps.Keys(c.Factors)) {
		for _, level := range c.Factors[name][min(1, len(c.Factors[name])):] {
			v := *c
			v.Factors = maps.Clone(c.Factors)
			v.Factors[name] = factor.Of(level)
			list = append(list, v.filled())
		}
	}
	return list
}

func (c *config) checkFactors(errs *experiment.FieldErrors) {
	texts := append(lists.Map(c.Files, func(f file) string { return f.Text }), string(c.Inline))
	for _, w := range c.Wait {
		texts = append(texts, w.Kind, w.Name, w.APIVersion, w.Namespace, w.Condition)
	}
	repeats := func(name string) bool {
		return slices.Contains(slices.Collect(maps.Values(c.Repeat)), factor.Word(name))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Factors)) {
		if err := factor.CheckNamed(c.Factors, name, texts, repeats); err != nil {
			errs.Add("factors."+name, "%v", err)
		}
	}
}

// repeat calls change for each entry of the map Repeat, with its key and number: for kinds of objects (kinds = true),
// or for paths of lists (kinds = false).
func (c *config) repeat(kinds bool, problems map[string][]string, change func(at string, n int, bad func(format string, args ...any))) {
	for _, at := range slices.Sorted(maps.Keys(c.Repeat)) {
		if kindName.MatchString(at) != kinds {
			continue
		}
		bad := func(format string, args ...any) {
			problems["repeat."+at] = append(problems["repeat."+at], fmt.Sprintf(format, args...))
		}
		n, err := strconv.Atoi(string(c.Repeat[at]))
		if err != nil || n < 0 || n > maxItems {
			bad("%q is neither the name of a factor nor a number from 0 to %d", c.Repeat[at], maxItems)
			continue
		}
		change(at, n, bad)
	}
}

func (c *config) multiplied(objects []object, problems map[string][]string) []object {
	c.repeat(true, problems, func(kind string, n int, bad func(string, ...any)) {
		var made []object
		found := false
		for _, o := range objects {
			if o.GetKind() != kind {
				made = append(made, o)
				continue
			}
			found = true
			if n > 1 && !strings.Contains(o.GetName(), itemNumber) {
				bad("%s:%d: put %s, the number of an object, into the name of %s, so that the names differ", o.source, o.line, itemNumber, title(&o.Unstructured))
				continue
			}
			for i := range n {
				one := o
				one.Object = withNumber(o.Object, int64(i+1)).(map[string]any)
				made = append(made, one)
			}
		}
		if !found {
			bad("there is no object of this kind")
		}
		objects = made
	})
	return objects
}

// lengthen gives lists in the objects a new length, in place. The parameter Repeat names these lists.
func (c *config) lengthen(objects []object, problems map[string][]string) {
	c.repeat(false, problems, func(at string, n int, bad func(string, ...any)) {
		path, err := parsePath(at)
		if err != nil {
			bad("%v", err)
			return
		}
		found := false
		for _, o := range objects {
			value, there, err := unstructured.NestedFieldNoCopy(o.Object, path...)
			list, is := value.([]any)
			if err != nil || !there || !is {
				continue
			}
			found = true
			made, err := lengthened(list, n)
			if err != nil {
				bad("%s:%d: %v", o.source, o.line, err)
				continue
			}
			within, _, _ := unstructured.NestedFieldNoCopy(o.Object, path[:len(path)-1]...)
			within.(map[string]any)[path[len(path)-1]] = made
		}
		if !found {
			bad("no object has a list at this path")
		}
	})
}

// lengthened returns a list with n items: it repeats the given items in turn, and writes each item's number in place
// of itemNumber.
func lengthened(list []any, n int) ([]any, error) {
	if n > len(list) {
		for _, item := range list {
			if !numbered(item) {
				return nil, fmt.Errorf("the list has %d items and needs %d: put %s, the number of an item, into each, so that the items differ", len(list), n, itemNumber)
			}
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("the list has no item to make %d of", n)
		}
	}
	made := make([]any, n)
	for i := range made {
		made[i] = withNumber(list[i%len(list)], int64(i+1))
	}
	return made, nil
}

func numbered(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, itemNumber)
	case []any:
		return slices.ContainsFunc(v, numbered)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), numbered)
	}
	return false
}

// withNumber copies a value with n in place of itemNumber. A text that consists of itemNumber only becomes a number.
func withNumber(v any, n int64) any {
	out, _ := mapped(v, func(text string) (any, error) {
		if text == itemNumber {
			return n, nil
		}
		return strings.ReplaceAll(text, itemNumber, strconv.FormatInt(n, 10)), nil
	})
	return out
}
