package network

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"tare/testbed"
)

// UDP has no way to tell a sender to wait for a receiver that is not running.
// What arrives meanwhile must fit the socket's buffer, or else the measurement
// is one of the scheduler: with the 208 KiB of a kernel that nobody configured,
// a receiver that is off the CPU for three milliseconds at 1 Gbit/s loses
// packets on a path that loses none. On a machine with two processors and a
// load of 6, the rate found was 385 to 563 Mbit/s with such buffers and 905 to
// 965 Mbit/s with 2 MiB.
const (
	wantedBuffer  = 2 << 20   // bytes
	grantedBuffer = 208 << 10 // bytes; what every kernel grants, rmem_max and wmem_max by default
)

// buffers gives the size of UDP's socket buffers in bytes: what the pods'
// kernels grant, up to wantedBuffer. Older kernels show their limits outside of
// pods only, where those of a testbed can be asked that has its nodes on this
// machine.
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
