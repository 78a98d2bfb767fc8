package stats

// blockMedians reduces a long series to medians, at most as many as most says. Each is the median of a
// block of neighbouring values, as many as size says. A series that is short enough is returned unchanged,
// with a size of 1. Blocks are of equal size, so that medians of exchangeable values are exchangeable. Up
// to size-1 values at the end belong to no block.
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
