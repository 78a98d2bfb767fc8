package workload

import "context"

// Sliceable is a workload whose trials can be cut into slices. Between the slices, trials of the other arms
// run. The workload declares this by experiment.Measures.Slice.
//
//	PrepareSlices  the unmeasured preparation of the trial
//	Sliced.Run     one slice; a pause follows, in which the other arms run their slices
//	…
//	Sliced.Finish  the result of all slices
//
// A slice may be a process of its own, or a stretch in which a running load generator sends requests. Between
// slices the workload's processes must use no CPU. Otherwise they would slow the other arms, and count as
// foreign programs.
type Sliceable interface {
	Workload
	// PrepareSlices replaces Prepare for a trial that is cut into n slices. The context ends with the trial,
	// and then ends all processes that were started with it.
	PrepareSlices(ctx context.Context, t *Trial, n int) (Sliced, error)
}

// Sliced is a trial that is cut into slices. An error of any method ends the trial, as an error of Measured
// does. No other method is called after an error.
type Sliced interface {
	// Run runs slice i, from 0. CPU time, conditions and wall-clock time of the trial only cover the calls of
	// Run.
	Run(ctx context.Context, i int) error
	// Finish returns the result of all slices together, and ends the processes that ran between slices.
	Finish(ctx context.Context) (Result, error)
}

// Uncut implements Prepare by PrepareSlices: the whole trial is one slice.
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
