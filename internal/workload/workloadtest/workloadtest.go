// Package workloadtest carries out trials of workloads, for their tests.
package workloadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"

	"tare/internal/workload"
)

// Raw keeps the raw files of a trial in memory. Tests read them after the trial.
type Raw struct {
	mu    sync.Mutex
	files map[string]*bytes.Buffer
}

// Create makes a file. A second file of the same name is an error.
func (r *Raw) Create(name string) (io.WriteCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[string]*bytes.Buffer{}
	}
	if r.files[name] != nil {
		return nil, errors.New(name + " is there already")
	}
	r.files[name] = new(bytes.Buffer)
	return file{r.files[name]}, nil
}

type file struct{ io.Writer }

func (file) Close() error { return nil }

// Texts returns the contents of the files, by the files' names.
func (r *Raw) Texts() map[string]string {
	texts := map[string]string{}
	for name, b := range r.files {
		texts[name] = b.String()
	}
	return texts
}

// Names returns the names of the files, in order.
func (r *Raw) Names() []string { return slices.Sorted(maps.Keys(r.files)) }

// JSON reads a file.
func (r *Raw) JSON(t testing.TB, name string, into any) {
	t.Helper()
	if r.files[name] == nil {
		t.Fatalf("no %s among %v", name, r.Names())
	}
	if err := json.Unmarshal(r.files[name].Bytes(), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Run carries out a trial.
func Run(ctx context.Context, w workload.Workload, t *workload.Trial) (workload.Result, error) {
	measured, err := w.Prepare(ctx, t)
	if err != nil {
		return workload.Result{}, err
	}
	return measured(ctx)
}
