package helperrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) {
	if testbed.HelperName() == "" {
		os.Exit(m.Run())
	}
	if err := helperrpc.Main(context.Background(), obey); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// obey is a helper that doubles numbers.
func obey(_ context.Context, n int) (any, error) {
	switch n {
	case 0:
		return nil, nil
	case 13:
		return nil, errors.New("not that one")
	}
	return 2 * n, nil
}

func TestServe(t *testing.T) {
	var out bytes.Buffer
	if err := helperrpc.Serve(t.Context(), strings.NewReader("4\n0\n13\nx\n"), &out, obey); err != nil {
		t.Fatal(err)
	}
	const want = `{"answer":8}
{}
{"error":"not that one"}
{"error":"invalid character 'x' looking for beginning of value"}
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

func TestHelper(t *testing.T) {
	h, err := helperrpc.Start(t.Context(), localtest.Host(t), testbed.Host, "doubler")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := h.Ask(t.Context(), 21, &n); err != nil || n != 42 {
		t.Errorf("%d, %v", n, err)
	}
	if err := h.Ask(t.Context(), 13, &n); err == nil || err.Error() != "not that one" {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Ask(ended, 1, &n); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDeadHelper(t *testing.T) {
	h, err := helperrpc.Start(t.Context(), localtest.Host(t), testbed.Host, "doubler")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	const want = "/proc/self/exe: signal: killed"
	if err := h.Ask(t.Context(), 1, nil); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := h.Close(t.Context()); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
