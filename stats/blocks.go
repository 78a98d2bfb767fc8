package stats

// blockMedians thins a long series into at most so many medians, each of a
// block of size neighbours; size is 1, and the series itself comes back, where
// it is short enough. Blocks are of equal size, so that medians of exchangeable
// values are exchangeable; up to size-1 values at the end belong to none.
func blockMedians(x []float64, most int) (medians []float64, size int) {
	size = (len(x) + most - 1) / most
	if size <= 1 {
		return x, 1
	}
	medians = make([]float64, len(x)/size)
	for i := range medians {
		medians[i] = Quantile(sortedCopy(x[i*size:(i+1)*size]), 0.5)
	}
	return medians, size
}
