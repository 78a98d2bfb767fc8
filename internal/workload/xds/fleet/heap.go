package fleet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"tare/internal/toolformat/promtext"
)

// Bounds on reading a server's metrics.
const (
	heapLimit = 10 * time.Second
	heapBytes = 64 << 20
)

// heap returns the bytes in use on a server's heap, from the server's metrics. It reads the metric by the
// name that Prometheus' collector for Go gives it.
func heap(ctx context.Context, url string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, heapLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // requests use no proxy, and no connection outlives its request
	answer, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("the heap of the server: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, heapBytes))
	if err != nil {
		return 0, fmt.Errorf("the heap of the server: %w", err)
	}
	const name = "go_memstats_heap_inuse_bytes"
	values, err := promtext.Values(text, name)
	if err != nil {
		return 0, fmt.Errorf("the heap of the server: %s answers %s: %w", url, answer.Status, err)
	}
	return int64(values[name]), nil
}
