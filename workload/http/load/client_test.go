package load

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// A client that reads requests from a pipe works like a session. The end of the requests ends a span.
func TestServe(t *testing.T) {
	l := serve(t, nil, nil)
	requests, stdin := io.Pipe()
	stdout, responses := io.Pipe()
	ended := make(chan error, 1)
	var client Client
	defer client.Close()
	go func() {
		ended <- client.Serve(t.Context(), requests, responses)
		responses.Close()
	}()
	to, from := json.NewEncoder(stdin), json.NewDecoder(stdout)
	ask := func(r ClientRequest) (*Result, error) {
		if err := to.Encode(r); err != nil {
			return nil, err
		}
		var response json.RawMessage
		if err := from.Decode(&response); err != nil {
			return nil, err
		}
		result, _, err := ReadResponse(response)
		return result, err
	}
	run := func(s Span) (*Result, error) { return ask(ClientRequest{Run: &s}) }
	open := func(c Config) error {
		_, err := ask(ClientRequest{Open: &OpenSession{Config: c}})
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
	if err := <-ended; err != nil {
		t.Errorf("the end of requests: %v", err)
	}
}

func TestServeGarbage(t *testing.T) {
	var out strings.Builder
	err := new(Client).Serve(t.Context(), strings.NewReader(`{"run": 3} {} nonsense`), &out)
	if err == nil || !strings.Contains(err.Error(), "read requests") {
		t.Errorf("nonsense: %v", err)
	}
	if got := out.String(); strings.Count(got, `{"error":`) != 2 {
		t.Errorf("responses: %s", got)
	}
}
