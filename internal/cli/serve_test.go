package cli_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/cli"
	"tare/internal/runs/history/historytest"
)

// The printed address shows the runs, and without its token nothing is shown. An interrupt ends the server even
// if a client is connected.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (historytest.Run{Name: "disk", Level: 1, Noise: 0.01, Rounds: 6}).Write(filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, stdout := io.Pipe()
	root := cli.Root(cli.State{Stdout: stdout, Stderr: io.Discard})
	root.SetArgs([]string{"serve", dir})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(line)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	visitor := &http.Client{Jar: jar}
	get := func(c *http.Client, address string) (int, string) {
		r, err := c.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	if code, text := get(visitor, address); code != http.StatusOK || !strings.Contains(text, ">one</a>") || !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Errorf("%s: %d, %s", address, code, text)
	}
	address, _, _ = strings.Cut(address, "?")
	if code, text := get(http.DefaultClient, address); code != http.StatusForbidden || strings.Contains(text, "one") {
		t.Errorf("without the token: %d, %s", code, text)
	}
	events, err := visitor.Get(address + "runs/one/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	interrupt() // a client is still connected
	if err := <-ended; err != nil {
		t.Errorf("interrupted: %v", err)
	}
}
