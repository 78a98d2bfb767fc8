package load

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// A client carries out requests like a session. The end of the input ends a span.
func TestServe(t *testing.T) {
	l := serve(t, nil, nil)
	var client Client
	defer client.Close()
	in, stdin := io.Pipe()
	defer stdin.Close()
	ask := func(r ClientRequest) (*Result, error) {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := client.Serve(t.Context(), io.MultiReader(bytes.NewReader(text), in), &out); err != nil {
			t.Fatal(err)
		}
		result, _, err := ReadResponse(out.Bytes())
		return result, err
	}
	run := func(s Span) (*Result, error) { return ask(ClientRequest{Run: &s}) }
	open := func(c Config) error {
		_, err := ask(ClientRequest{Open: &c})
		return err
	}
	if _, err := run(Span{Workers: 1, Duration: time.Second}); err == nil || !strings.Contains(err.Error(), "no session is open") {
		t.Errorf("a span without a session: %v", err)
	}
	if err := open(Config{URL: "x"}); err == nil || !strings.Contains(err.Error(), `url "x"`) {
		t.Errorf("a bad configuration: %v", err)
	}
	for range 2 {
		if err := open(Config{URL: l.url("http", "/bytes/9"), Protocol: HTTP1, Connections: 2}); err != nil {
			t.Fatal(err)
		}
		result, err := run(Span{Rate: 200, Duration: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		consistent(t, result)
		wellAnswered(t, result)
		if result.Due != 10 || result.BytesReceived != 90 {
			t.Errorf("%d requests, %d bytes", result.Due, result.BytesReceived)
		}
	}
	time.AfterFunc(20*time.Millisecond, func() { stdin.Close() })
	if _, err := run(Span{Workers: 2, Duration: time.Hour}); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("a span that was interrupted: %v", err)
	}
}

func TestServeGarbage(t *testing.T) {
	for _, text := range []string{`{"run": 3}`, "{}", "nonsense", ""} {
		var out bytes.Buffer
		err := new(Client).Serve(t.Context(), strings.NewReader(text), &out)
		if err != nil || !strings.HasPrefix(out.String(), `{"error":`) {
			t.Errorf("%q: %v, %s", text, err, out.String())
		}
	}
}
