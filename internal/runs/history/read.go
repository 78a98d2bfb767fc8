package history

import (
	"context"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tare/internal/run/journal"
	"tare/internal/run/machine"
)

// Read finds the runs below the directories, which may be runs themselves, and reads each run once. The
// result skipped lists directories that could not be read, and directories without a run below them. An
// error means that a directory could not be searched, or that ctx was cancelled.
func Read(ctx context.Context, dirs ...string) (runs []*Run, skipped []Skipped, err error) {
	var found []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		below, err := journal.Find(dir + string(filepath.Separator)) // the separator makes Find follow a link
		if err != nil {
			return nil, nil, err
		}
		if len(below) == 0 {
			skipped = append(skipped, Skipped{dir, "it is no run directory, and there is none below it"})
		}
		for _, run := range below {
			if path := canonical(run); !seen[path] {
				seen[path] = true
				found = append(found, filepath.Clean(run))
			}
		}
	}
	read, errs := make([]*Run, len(found)), make([]error, len(found))
	each(len(found), func(i int) {
		if ctx.Err() == nil {
			read[i], errs[i] = open(found[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for i := range found {
		if _, reached := machine.Exhausted(errs[i]); reached {
			return nil, nil, errs[i] // an error that is not caused by the run
		}
		if errs[i] != nil {
			skipped = append(skipped, Skipped{found[i], errs[i].Error()})
			continue
		}
		runs = append(runs, read[i])
	}
	return runs, skipped, nil
}

// each calls f for 0 to n-1, on all processors.
func each(n int, f func(i int)) {
	var calls errgroup.Group
	calls.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		calls.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = calls.Wait() // the calls return no errors
}
