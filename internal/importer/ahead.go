package importer

import (
	"context"
	"runtime"
	"sync"
)

// mostReaders is the largest number of files that are read at the same time. Each of them may take Limit bytes
// of memory, and more for the trials made of it.
const mostReaders = 4

// ahead reads all files and hands the results to take in the order of the files. A few files are read before
// their turn. When ahead returns, no file is being read. A file whose reader may have to wait, such as a pipe,
// is read only at its turn, so that it does not hold up an import that ends before.
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
	var queue []<-chan readResult // the files being read, the next one to be taken first
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
				return err // the end of ctx may have cut off the last result
			}
			queue = queue[1:]
			if err := take(i, c); err != nil {
				return err
			}
		}
	}
	return nil
}
