package target

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAnswers(t *testing.T) {
	s := httptest.NewServer(New(nil).Handler)
	defer s.Close()
	for _, test := range []struct {
		path, header, value string
		status, length      int
	}{
		{"/", "", "", 200, 2}, {"/bytes/0", "", "", 200, 0}, {"/bytes/200000", "", "", 200, 200000}, {"/x", answerHeader, "7", 200, 7},
		{"/status/204", "", "", 204, 0}, {"/status/503", "", "", 503, 2}, {"/delay/1ms", "", "", 200, 2},
		{"/bytes/-1", "", "", 400, -1}, {"/bytes/x", "", "", 400, -1}, {"/delay/1h", "", "", 400, -1}, {"/status/99", "", "", 400, -1},
		{"/", delayHeader, "soon", 400, -1},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+test.path, strings.NewReader(strings.Repeat("x", 100_000)))
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, a.Body)
		a.Body.Close()
		if err != nil || a.StatusCode != test.status || test.length >= 0 && int(n) != test.length {
			t.Errorf("%s %s: status %d, %d bytes, %v", test.path, test.value, a.StatusCode, n, err)
		}
	}
}

// A response is delayed by at least the requested time.
func TestDelay(t *testing.T) {
	s := httptest.NewServer(New(nil).Handler)
	defer s.Close()
	start := time.Now()
	a, err := http.Get(s.URL + "/delay/20ms")
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("took %v", took)
	}
}

// The process prints its address, serves, and ends with its context.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Config{Listen: "127.0.0.1:0"}, w) }()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready Ready
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	a, err := http.Get("http://" + ready.Address + "/bytes/5")
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.ContentLength != 5 {
		t.Errorf("%d bytes", a.ContentLength)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, c := range []Config{{Listen: "nowhere"}, {Listen: "127.0.0.1:0", Cert: "x", Key: "y"}} {
		if err := Run(t.Context(), c, io.Discard); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}
