package importer_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/importer"
)

// Arms that have no cell in common with the baseline cannot be compared.
func TestApart(t *testing.T) {
	files := map[string]string{
		"a/1.txt": "w s-mean 1\nx s-mean 1\ny s-mean 1\nz s-mean 1\n", "b/1.txt": "u s-mean 1\n", "c/1.txt": "u s-mean 1\n", "d/1.txt": "z s-mean 1\n", "e/1.txt": "what\n",
	}
	for name, i := range map[string]importing{
		"none shared":              {arms: []string{"a=a", "b=b"}, err: "nothing to compare: a has no cell in common with another arm (a has w, x, y, …, b has u)"},
		"shared by the treatments": {arms: []string{"a=a", "b=b", "c=c"}, err: "nothing to compare: a has no cell in common with another arm (a has w, x, y, …, b has u)"},
		"another baseline": {arms: []string{"a=a", "b=b", "c=c"}, options: func(o *importer.Options) { o.Baseline = "b" },
			trials: "1 a w s-mean=1\n1 a x s-mean=1\n1 a y s-mean=1\n1 a z s-mean=1\n1 b u s-mean=1\n1 c u s-mean=1",
			notes:  []string{"all 1 file of c hold the same as those of b: a wrong directory?"}},
		"one shared": {arms: []string{"d=d", "a=a", "b=b"},
			trials: "1 d z s-mean=1\n1 a w s-mean=1\n1 a x s-mean=1\n1 a y s-mean=1\n1 a z s-mean=1\n1 b u s-mean=1"},
		"one cannot be read": {arms: []string{"b=b", "e=e"}, trials: "1 b u s-mean=1\n1 e u import!"},
	} {
		i.files = files
		t.Run(name, i.run)
	}
	dir := write(t, files)
	o := importer.Options{Format: lines, Name: "test", Sources: []importer.Source{
		{Arm: "a", From: []string{filepath.Join(dir, "a")}}, {Arm: "b", From: []string{filepath.Join(dir, "b")}}}}
	o.Format.OneName = "name them with -n"
	_, err := importer.Run(context.Background(), filepath.Join(t.TempDir(), "run"), o)
	var apart *importer.DataError
	if !errors.As(err, &apart) || !strings.HasSuffix(apart.Hint, ": name them with -n") {
		t.Errorf("the error is %v, with the hint of %+v", err, apart)
	}
}

// File.Alone is set if there are several arms and each of them is one file.
func TestAlone(t *testing.T) {
	files := map[string]string{"a/1.txt": "x s-mean 1\n", "b/1.txt": "x s-mean 2\n", "b/2.txt": "x s-mean 3\n"}
	for _, c := range []struct {
		arms []string
		want bool
	}{
		{[]string{"a=a", "b=b/1.txt"}, true},
		{[]string{"a=a", "b=b"}, false},
		{[]string{"a=a"}, false},
		{[]string{"a/1.txt", "b/1.txt"}, false},
	} {
		dir := write(t, files)
		o := importer.Options{Format: lines, Name: "test"}
		for _, arm := range c.arms {
			name, from, ok := strings.Cut(arm, "=")
			if !ok {
				name, from = "", arm
			}
			o.Sources = append(o.Sources, importer.Source{Arm: name, From: []string{filepath.Join(dir, from)}})
		}
		read := o.Format.Read
		o.Format.Read = func(f importer.File) ([]importer.Trial, error) {
			if f.Alone != c.want {
				t.Errorf("%v: %s is told to be alone: %v", c.arms, f.Name, f.Alone)
			}
			return read(f)
		}
		if _, err := importer.Run(context.Background(), filepath.Join(t.TempDir(), "run"), o); err != nil {
			t.Error(err)
		}
	}
}
