package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// end is one end of the tunnels. It is on a node of this machine, or in a pod of a cluster.
type end struct {
	at    testbed.Place // place of the helper
	place testbed.Place // place in messages and costs
	pod   testbed.Place // pod behind the end, which sends and receives markers
	own   []netip.Addr  // addresses of the pod; none on a node
	mtu   int           // MTU of the tunnel; 0: the helper determines it
	peer  Peer          // this end as its peers know it, without a key
	key   Key
	peers []Peer

	helper  *helperrpc.Helper // nil: not started
	daemon  testbed.Process   // nil: not running
	lacks   string            // reason why the kernel cannot encrypt
	kernel  bool              // the kernel encrypts
	program string            // name of the implementation in messages
	opened  Opened
	version string
}

// start starts the end's helper, unless it runs already.
func (e *end) start(ctx context.Context, t *Tunnels) (err error) {
	if e.helper != nil {
		return nil
	}
	e.program = t.Program
	if e.helper, err = helperrpc.Start(ctx, t.site, e.at, t.Layer); err != nil {
		return fmt.Errorf("%s: start the layer's helper: %w", e.place, err)
	}
	return nil
}

// open opens the end, starts its daemon if it has one, and sets its key and its peers.
func (e *end) open(ctx context.Context, t *Tunnels, kernel bool) (err error) {
	if e.kernel = kernel; kernel {
		e.program = t.Protocol.Kernel
	}
	err = e.ask(ctx, request{Open: &Opening{Kernel: kernel, MTU: e.mtu, Own: e.own, Address: e.peer.Address, Behind: e.peer.Behind}}, &e.opened)
	if err == nil && e.opened.Daemon != nil {
		e.daemon, err = t.site.Start(context.WithoutCancel(ctx), e.at, testbed.Command{Args: e.opened.Daemon, Env: e.opened.Env})
		if err != nil {
			err = fmt.Errorf("%s: %w", e.place, err)
		}
	}
	if err != nil && !kernel {
		err = fmt.Errorf("%s %w: %w", t.Program, errUserspace, err)
	}
	if err == nil {
		err = e.ask(ctx, request{Ready: &struct{}{}}, &e.version)
	}
	if err == nil {
		err = e.rekey(ctx, e.key)
	}
	return err
}

func (e *end) rekey(ctx context.Context, own Key) error {
	return e.ask(ctx, request{Rekey: &rekeying{own, e.peers}}, nil)
}

// ask sends the helper a request and waits for the response.
func (e *end) ask(ctx context.Context, r request, into any) error {
	if err := e.helper.Ask(ctx, r, into); err != nil {
		return fmt.Errorf("%s: %s: %s: %w", e.place, e.program, r, err)
	}
	return nil
}

// cost returns the CPU time and memory that the end's helper and daemon have used.
func (e *end) cost() (c layer.Cost, err error) {
	c.Part = string(e.place)
	var errs [2]error
	c.CPU, errs[0] = e.helper.CPU()
	c.Memory, errs[1] = e.helper.Memory()
	if e.daemon != nil {
		cpu, err := e.daemon.CPU()
		memory, bad := e.daemon.Memory()
		c.CPU, c.Memory, errs[0] = c.CPU+cpu, c.Memory+memory, errors.Join(errs[0], err, bad)
	}
	return c, errors.Join(errs[:]...)
}

// close closes the end. It ends the end's helper and daemon.
func (e *end) close(ctx context.Context) error {
	if e.helper == nil {
		return nil
	}
	errs := []error{e.helper.Close(ctx)}
	if e.daemon != nil {
		errs = append(errs, e.daemon.Kill())
		_, _ = e.daemon.Wait() // Wait returns an error, because the daemon was killed
	}
	e.helper, e.daemon = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %s: %w", e.place, e.program, err)
	}
	return nil
}
