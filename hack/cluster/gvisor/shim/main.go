// Command shim is gVisor's containerd shim, containerd-shim-runsc-v1, with
// another way to start itself. Upstream's
//
//   - sets its OOM score to -999 and fails when it may not, as root without
//     CAP_SYS_RESOURCE may not;
//   - answers containerd in JSON, which containerd 1.6 does not read; all
//     versions read a plain address.
//
// All that a started shim does is upstream's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/shim"
	gvisor "gvisor.dev/gvisor/pkg/shim/v1"
	_ "gvisor.dev/gvisor/pkg/shim/v1/plugin" // the task service
)

func main() {
	shim.Run(context.Background(), manager{gvisor.NewShimManager("io.containerd.runsc.v1")})
}

type manager struct{ shim.Manager }

// Start writes the socket's address for containerd itself, and exits.
func (manager) Start(ctx context.Context, id string, opts shim.StartOpts) (none shim.BootstrapParams, err error) {
	address, err := start(ctx, id, opts)
	if err != nil {
		return none, err
	}
	fmt.Print(address)
	os.Exit(0)
	return none, nil
}

// start runs this program again as the shim of a container, with the socket
// that it is to serve.
func start(ctx context.Context, id string, opts shim.StartOpts) (address string, err error) {
	namespace, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	address, err = shim.SocketAddress(ctx, opts.Address, id, opts.Debug)
	if err != nil {
		return "", err
	}
	socket, err := shim.NewSocket(address)
	if err != nil {
		return "", fmt.Errorf("listen on the shim's socket %s: %w", address, err)
	}
	file, err := socket.File()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, "-namespace", namespace, "-address", opts.Address, "-id", id)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.ExtraFiles = []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start the shim: %w", err)
	}
	defer func() {
		if err != nil {
			_ = cmd.Process.Kill()
		}
	}()
	if err := shim.WritePidFile("shim.pid", cmd.Process.Pid); err != nil {
		return "", err
	}
	// The shim reads it to remove the socket when it ends.
	return address, os.WriteFile("address", []byte(address), 0o644)
}
