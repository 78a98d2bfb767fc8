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

	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

const outputLimit = 1 << 20

// Exec runs a program in any container of any pod. It returns up to 1 MiB of each output. If the exit status is
// not 0, the error is a *testbed.ExitError.
func (c *Cluster) Exec(ctx context.Context, namespace, pod, container string, args []string) (stdout, stderr []byte, err error) {
	options := &corev1.PodExecOptions{Container: container, Command: args, Stdout: true, Stderr: true}
	executor, err := c.executor(namespace, pod, options)
	if err != nil {
		return nil, nil, err
	}
	var out, errs headBuffer
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

// headBuffer keeps the first outputLimit bytes that are written to it, and drops the following bytes.
type headBuffer struct{ buf bytes.Buffer }

func (b *headBuffer) Write(p []byte) (int, error) {
	b.buf.Write(p[:min(len(p), outputLimit-b.buf.Len())])
	return len(p), nil
}

// executor prepares an exec by WebSocket, or by SPDY if the API server or a proxy does not support WebSocket.
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

// Dial runs a program in a container of a pod. It returns the program's standard input and output as a stream.
// Closing the stream ends the exec.
func (c *Cluster) Dial(ctx context.Context, namespace, pod, container string, args []string) (io.ReadWriteCloser, error) {
	options := &corev1.PodExecOptions{Container: container, Command: args, Stdin: true, Stdout: true, Stderr: true}
	executor, err := c.executor(namespace, pod, options)
	if err != nil {
		return nil, fmt.Errorf("exec in pod %s/%s: %w", namespace, pod, err)
	}
	// ctx only limits dialling, and so the stream must not end with ctx.
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stdin, toAgent := io.Pipe()
	fromAgent, stdout := io.Pipe()
	go func() {
		var stderr headBuffer
		streams := remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: &stderr}
		err := executor.StreamWithContext(streaming, streams)
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

type execStream struct {
	*io.PipeReader // the program's standard output
	*io.PipeWriter // the program's standard input
	cancel         context.CancelFunc
}

func (e *execStream) Close() error {
	e.cancel()
	return errors.Join(e.PipeWriter.Close(), e.PipeReader.Close())
}
