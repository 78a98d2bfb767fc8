package local

import (
	"context"
	"fmt"

	"tare/internal/testbed/sniff"
)

// Watch counts the frames on the wire that contain pattern. It counts on all ports of the bridge and in
// both directions, and may count a frame more than once. Lost frames are an error, since the count would
// prove nothing.
func (n *network) Watch(ctx context.Context, pattern []byte) (func() (int, error), error) {
	var w *sniff.Watch
	if err := n.wire.thread.do(func() (err error) { w, err = sniff.Open(pattern); return err }); err != nil {
		return nil, fmt.Errorf("watch the wire: %w", err)
	}
	release := context.AfterFunc(ctx, w.Stop)
	return func() (int, error) {
		release()
		seen, err := w.End()
		if err != nil {
			return seen, fmt.Errorf("watch the wire: %w", err)
		}
		return seen, ctx.Err()
	}, nil
}
