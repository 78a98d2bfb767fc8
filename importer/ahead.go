package importer

import (
	"context"
	"runtime"
	"sync"
)

// mostReaders is how many files are read at the same time at most. Each may take
// Limit and what is made of it in memory.
const mostReaders = 4

// ahead reads all files, a few of them ahead of the one whose turn it is, and hands
// them to take in their order. No file is read any more when it returns. A file
// that may keep its reader waiting, such as a pipe, is begun when it is its turn,
// not to hold up an import that ends before it.
func (r *run) ahead(ctx context.Context, take func(i int, c readResult) error) error {
	readers := min(runtime.GOMAXPROCS(0), mostReaders)
	free := make(chan struct{}, readers)
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begin := func(i int) <-chan readResult {
		done := make(chan readResult, 1)
		reading.Go(func() {
			free <- struct{}{}
			if ctx.Err() == nil {
				done <- r.read(ctx, i)
			}
			<-free
		})
		return done
	}
	var queue []<-chan readResult // files that were begun, from the one whose turn it is
	begun := 0
	for i := range r.files {
		for begun < len(r.files) && begun <= i+readers && (begun == i || !r.files[begun].waits) {
			queue = append(queue, begin(begun))
			begun++
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-queue[0]:
			if err := ctx.Err(); err != nil {
				return err // what was read may have been cut off by that
			}
			queue = queue[1:]
			if err := take(i, c); err != nil {
				return err
			}
		}
	}
	return nil
}
