package mtls

import (
	"context"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// podWire is the wire as the helper in a pod sees it: the network interfaces of the pod.
type podWire struct{ helper *helperrpc.Helper }

var _ testbed.Wire = (*podWire)(nil)

// Watch counts the frames that contain the pattern, a text, until the returned function is called.
func (w *podWire) Watch(ctx context.Context, pattern []byte) (func() (int, error), error) {
	if err := w.helper.Ask(ctx, request{Watch: &watchRequest{Pattern: string(pattern)}}, nil); err != nil {
		return nil, err
	}
	return func() (n int, err error) {
		err = w.helper.Ask(context.WithoutCancel(ctx), request{Unwatch: &struct{}{}}, &n)
		return n, err
	}, nil
}
