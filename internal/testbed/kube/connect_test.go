package kube

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/test/fit"
	"tare/internal/testbed/kube/cluster"
)

// A credential plugin that does not end delays neither the run nor its end.
func TestConnectPlugin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	started, over := filepath.Join(dir, "started"), filepath.Join(dir, "over")
	program := filepath.Join(dir, "fetch")
	script := fmt.Sprintf("#!/bin/sh\n: > %q\nwhile [ -d %q ] && [ ! -e %q ]; do sleep 0.05; done\nexit 1\n", started, dir, over)
	must(t, os.WriteFile(program, []byte(script), 0o700))
	config := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}}]
`, program)
	must(t, os.WriteFile(config, []byte(text), 0o600))
	var said []string
	bed, err := New(Options{Kubeconfig: config, Say: func(line string) { said = append(said, line) }})
	if err != nil {
		t.Fatal(err)
	}
	limits := parameters().Timeouts
	limits.Request = quantity.Duration(cluster.SayAfter + time.Second)
	failed := make(chan error, 1)
	go func() {
		_, err := bed.onCluster(t.Context(), "one", limits)
		failed <- err
	}()
	fit.Await(t, "the plugin to start", func() bool { _, err := os.Stat(started); return err == nil })
	if err := bed.Close(); err != nil { // does not wait for it
		t.Error(err)
	}
	select {
	case err := <-failed:
		t.Errorf("Close came after the end of the wait: %v", err)
	default:
	}
	err = <-failed
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Error(err)
	}
	var timeout *cluster.TimeoutError
	if !errors.As(err, &timeout) || !strings.Contains(err.Error(), "context one: the credential plugin "+program+": not after 4s: no credentials yet") {
		t.Errorf("got %v", err)
	}
	if len(said) != 1 || said[0] != "waiting for the credential plugin "+program {
		t.Errorf("said %q", said)
	}
}
