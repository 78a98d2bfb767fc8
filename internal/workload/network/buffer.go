package network

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"tare/internal/testbed"
)

// UDP cannot make a sender wait for a receiver that is not running. Packets that arrive while the receiver is
// off the CPU must fit the socket's buffer; otherwise the result depends on the scheduler. With 208 KiB, the
// default of kernels, a receiver that is off the CPU for three milliseconds at 1 Gbit/s loses packets on a
// path without loss. On a machine with two processors and a load of 6, the search found 385 to 563 Mbit/s
// with buffers of 208 KiB, and 905 to 965 Mbit/s with buffers of 2 MiB.
const (
	wantedBuffer  = 2 << 20   // bytes
	grantedBuffer = 208 << 10 // bytes; default of rmem_max and wmem_max, which every kernel grants
)

// buffers returns the size of UDP's socket buffers in bytes: the size that the pods' kernels grant, up to
// wantedBuffer. Older kernels show the limits of buffers only outside of pods, where Tare can read them only
// if the testbed's nodes are on this machine.
func (p pair) buffers(ctx context.Context) (int64, error) {
	places := []testbed.Place{p.server}
	if _, here := testbed.As[testbed.Nodes](p.site); here {
		places = append(places, testbed.ServerNode, testbed.Host)
	}
	for _, where := range places {
		var stdout bytes.Buffer
		process, err := p.site.Start(ctx, where, testbed.Command{
			Args: []string{"cat", "/proc/sys/net/core/rmem_max", "/proc/sys/net/core/wmem_max"}, Stdout: &stdout,
		})
		if err != nil {
			return 0, err
		}
		if _, err := process.Wait(); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			continue
		}
		if size, ok := granted(stdout.String()); ok {
			return size, nil
		}
	}
	return grantedBuffer, nil
}

func granted(text string) (int64, bool) {
	limits := strings.Fields(text)
	size := int64(wantedBuffer)
	for _, limit := range limits {
		n, err := strconv.ParseInt(limit, 10, 64)
		if err != nil || n <= 0 {
			return 0, false
		}
		size = min(size, n)
	}
	return size, len(limits) == 2
}
