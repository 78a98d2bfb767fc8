package cli

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/experiment/secret"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/text/mask"
)

// sessionValues holds the values that an experiment takes from variables and files, and the mask that keeps them out of
// all output.
type sessionValues struct {
	values *reference.Values
	mask   *mask.Mask
}

// readValues reads the values, once for a whole session of a run. files are the files of the experiment, by their
// names for messages. It returns an error if one of them contains a secret value.
func readValues(x *experiment.Experiment, files map[string][]byte) (sessionValues, error) {
	values, err := reference.Take(reference.Of(x))
	if err != nil {
		return sessionValues{}, err
	}
	t := sessionValues{values, new(mask.Mask)}
	values.Each(func(r reference.Reference, value string) {
		t.mask.Add(maskName(r), value)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			at := bytes.Index(files[name], []byte(value))
			if err == nil && len(value) >= mask.Least && at >= 0 && (r.File != "" || secret.Named(r.Variable)) {
				line := 1 + bytes.Count(files[name][:at], []byte("\n"))
				err = hinted(fmt.Errorf("%s:%d: the value of %s stands here, and would be kept in the run", name, line, r), "write %s in its place", r)
			}
		}
	})
	return t, err
}

// maskName returns the name that replaces a value in masked text.
func maskName(r reference.Reference) string {
	if r.File != "" {
		return r.File
	}
	return r.Variable
}

// with returns a context with the values, and makes the journal mask them.
func (t sessionValues) with(ctx context.Context, j *journal.Journal) context.Context {
	j.Mask(t.mask)
	return reference.With(ctx, t.values)
}

// maskedError is an error whose text has the values masked.
type maskedError struct {
	error
	text string
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.error }

// masked returns the error with the values masked.
func (t sessionValues) masked(err error) error {
	if err == nil {
		return nil
	}
	return &maskedError{err, t.mask.Text(err.Error())}
}

// references returns a part for each reference of an experiment, with the finding whether its value exists.
func references(x *experiment.Experiment) []part {
	var parts []part
	for _, r := range reference.Of(x) {
		p := part{"variable", r.Variable, nil}
		f := testbed.Finding{Name: "environment", Status: testbed.Missing, Detail: "not set", Hint: "export " + r.Variable}
		if r.File != "" {
			p, f.Name, f.Hint = part{"file", r.File, nil}, "disk", "write the value into the file"
		}
		value, err := r.Read()
		switch {
		case err == nil && new(mask.Mask).Add("", value):
			f.Status, f.Detail, f.Hint = testbed.Works, "its value is masked in what programs print", ""
		case err == nil:
			f.Status, f.Hint = testbed.Works, ""
			f.Detail = fmt.Sprintf("its value is shorter than %d bytes, and not masked in what programs print", mask.Least)
		case r.File != "":
			f.Detail = err.Error()
		}
		p.Findings = []testbed.Finding{f}
		parts = append(parts, p)
	}
	return parts
}
