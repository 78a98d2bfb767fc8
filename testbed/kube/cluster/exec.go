package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"tare/safetext"
	"tare/testbed"
)

// outputLimit is how much of what a program writes Exec keeps of each stream.
const outputLimit = 1 << 20

// Exec runs a program in any container of any pod and gives its output of up to
// 1 MiB. A program that fails is a *testbed.ExitError.
func (c *Cluster) Exec(ctx context.Context, namespace, pod, container string, args []string) (stdout, stderr []byte, err error) {
	executor, err := c.executor(namespace, pod, &corev1.PodExecOptions{Container: container, Command: args, Stdout: true, Stderr: true})
	if err != nil {
		return nil, nil, err
	}
	var out, errs bounded
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
	var code exec.CodeExitError
	switch {
	case errors.As(err, &code):
		err = &testbed.ExitError{Args: args, Code: code.Code, Stderr: safetext.Head(errs.buf.String(), 4096)}
	case err != nil:
		err = fmt.Errorf("run %s in pod %s/%s: %w", safetext.Head(testbed.Quote(args), 200), namespace, pod, err)
	}
	return out.buf.Bytes(), errs.buf.Bytes(), err
}

// bounded keeps the beginning of what is written.
type bounded struct{ buf bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.buf.Write(p[:min(len(p), outputLimit-b.buf.Len())])
	return len(p), nil
}

// executor prepares an exec by WebSocket, or by SPDY where the API server or
// what is before it does not let that pass.
func (c *Cluster) executor(namespace, pod string, o *corev1.PodExecOptions) (remotecommand.Executor, error) {
	url := c.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(o, scheme.ParameterCodec).URL()
	config := rest.CopyConfig(c.Config)
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", url)
	if err != nil {
		return nil, err
	}
	websocket, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// Dial runs a program in a container of a pod and gives its standard input and
// output, until that is closed.
func (c *Cluster) Dial(ctx context.Context, namespace, pod, container string, args []string) (io.ReadWriteCloser, error) {
	executor, err := c.executor(namespace, pod, &corev1.PodExecOptions{Container: container, Command: args, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, fmt.Errorf("exec in pod %s/%s: %w", namespace, pod, err)
	}
	// The stream outlives the dialling: it ends by Close.
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stdin, toAgent := io.Pipe()
	fromAgent, stdout := io.Pipe()
	go func() {
		var stderr bounded
		err := executor.StreamWithContext(streaming, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: &stderr})
		if said := strings.TrimSpace(stderr.buf.String()); said != "" {
			err = errors.Join(err, errors.New(safetext.Head(said, 500)))
		}
		if err == nil {
			err = io.EOF
		} else {
			err = fmt.Errorf("exec in pod %s/%s: %w", namespace, pod, err)
		}
		stdout.CloseWithError(err)
		stdin.CloseWithError(err)
	}()
	return &execStream{PipeReader: fromAgent, PipeWriter: toAgent, cancel: cancel}, nil
}

// execStream is an exec that stays open.
type execStream struct {
	*io.PipeReader // what the agent says
	*io.PipeWriter // what it is told
	cancel         context.CancelFunc
}

// Close ends the exec, and lets go whoever reads or writes.
func (e *execStream) Close() error {
	e.cancel()
	return errors.Join(e.PipeWriter.Close(), e.PipeReader.Close())
}
