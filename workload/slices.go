package workload

import "context"

// Sliceable is a workload whose trials can be cut into slices, between which trials of the
// other arms run. It declares that by experiment.Measures.Slice.
//
//	PrepareSlices  what belongs to the trial but is not measured
//	Sliced.Run     one slice; then as long a pause as the other arms take for theirs
//	…
//	Sliced.Finish  what the slices have measured together
//
// Whether a slice is a process of its own or a stretch in which a load generator that stays
// up sends requests, is the workload's to choose. What stays up between slices must use no
// CPU there: it would slow the other arms, and would count as a foreign program.
type Sliceable interface {
	Workload
	// PrepareSlices is called in place of Prepare for a trial that is cut into n slices.
	// The context lasts as long as the trial: what is started with it, and runs between
	// slices, ends with it at the latest.
	PrepareSlices(ctx context.Context, t *Trial, n int) (Sliced, error)
}

// Sliced is a trial that is cut into slices. An error of any method breaks the trial as one
// of Measured does; no other method is called after it.
type Sliced interface {
	// Run runs slice i, from 0. CPU time and conditions cover the calls of Run alone, and
	// the wall clock of the trial is the sum of theirs.
	Run(ctx context.Context, i int) error
	// Finish gives one value for each metric, made of all slices, and ends what ran between them.
	Finish(ctx context.Context) (Result, error)
}

// Uncut is Prepare of a workload for which a whole trial is one slice.
func Uncut(ctx context.Context, w Sliceable, t *Trial) (Measured, error) {
	s, err := w.PrepareSlices(ctx, t, 1)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Result, error) {
		if err := s.Run(ctx, 0); err != nil {
			return Result{}, err
		}
		return s.Finish(ctx)
	}, nil
}
