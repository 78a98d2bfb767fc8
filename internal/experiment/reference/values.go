package reference

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/text/input"
)

const maxFile = 64 << 10 // the largest size, in bytes, of a file that a value is read from

// Values are the values of references at the start of a run.
type Values struct {
	all  []Reference // the references, in the order in which Take received them
	held map[Reference]string
}

// Take reads the values of references. The error names all references without a value.
func Take(wanted []Reference) (*Values, error) {
	v := &Values{held: map[Reference]string{}}
	var unset, unread []string
	for _, r := range wanted {
		if slices.Contains(v.all, r) {
			continue
		}
		v.all = append(v.all, r)
		value, err := r.Read()
		switch {
		case err != nil && r.File == "":
			unset = append(unset, r.Variable)
		case err != nil:
			unread = append(unread, err.Error())
		}
		v.held[r] = value
	}
	var err error
	if len(unset) > 0 {
		err = fmt.Errorf("the experiment takes %s from the environment, where it is not set: export it before running tare", strings.Join(unset, ", "))
	}
	if len(unread) > 0 {
		err = errors.Join(err, fmt.Errorf("the experiment takes a value from a file that cannot be read: %s", strings.Join(unread, "; ")))
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Read reads the current value of a reference.
func (r Reference) Read() (string, error) {
	if r.File == "" {
		value, ok := os.LookupEnv(r.Variable)
		if !ok {
			return "", fmt.Errorf("%s is not set", r.Variable)
		}
		return value, nil
	}
	name := r.File
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		name = filepath.Join(home, rest)
	}
	data, err := input.ReadAtMost(name, maxFile)
	switch {
	case err != nil:
		return "", err
	case strings.ContainsRune(string(data), 0):
		return "", fmt.Errorf("%s has a zero byte, which no argument and no variable can hold", name)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// Each calls f for every value, in the order in which Take received the references.
func (v *Values) Each(f func(r Reference, value string)) {
	if v == nil {
		return
	}
	for _, r := range v.all {
		f(r, v.held[r])
	}
}

// key is the type of the key under which a context holds values.
type key struct{}

// With returns a context that carries v, the values of the references.
func With(ctx context.Context, v *Values) context.Context { return context.WithValue(ctx, key{}, v) }

// value returns the value that the reference had at the start of the run to which ctx belongs. Outside of a run, it
// returns the current value.
func (r Reference) value(ctx context.Context) (string, error) {
	if v, ok := ctx.Value(key{}).(*Values); ok {
		if value, ok := v.held[r]; ok {
			return value, nil
		}
	}
	now, err := Take([]Reference{r})
	if err != nil {
		return "", err
	}
	return now.held[r], nil
}

// Resolve replaces the references in text, which is the value of a variable as the file gives it, and returns the
// result.
func Resolve(ctx context.Context, text string) (string, error) {
	parts, err := parse(text)
	if err != nil {
		return "", err
	}
	return join(ctx, parts, nil)
}

// Resolve returns the arguments with their references replaced by values. fill replaces placeholders in texts of the
// file, never in values; nil: they stay.
func (a Arguments) Resolve(ctx context.Context, fill func(string) (string, error)) ([]string, error) {
	resolved := make([]string, len(a))
	for i := range a {
		parts, err := a.parts(i)
		if err == nil {
			resolved[i], err = join(ctx, parts, fill)
		}
		if err != nil {
			return nil, err
		}
	}
	return resolved, nil
}

func join(ctx context.Context, parts []part, fill func(string) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		text, err := p.literal, error(nil)
		switch {
		case p.taken != nil:
			text, err = p.taken.value(ctx)
		case fill != nil:
			text, err = fill(text)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// referrer is a part of an experiment that may contain references.
type referrer interface{ References() []Reference }

// Of lists the distinct references in an experiment.
func Of(x *experiment.Experiment) []Reference {
	var all []Reference
	collect := func(config any) {
		walk(reflect.ValueOf(config), func(r referrer) {
			for _, found := range r.References() {
				if !slices.Contains(all, found) {
					all = append(all, found)
				}
			}
		})
	}
	for _, a := range x.Arms {
		for _, l := range a.Layers {
			collect(l.Config)
		}
	}
	for _, w := range x.Workloads {
		collect(w.Config)
	}
	return all
}

// walk calls visit for each value in a config that may contain references.
func walk(v reflect.Value, visit func(referrer)) {
	if v.IsValid() && v.CanInterface() {
		if r, ok := v.Interface().(referrer); ok {
			visit(r)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), visit)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}
