package cluster

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func patientClient(limit time.Duration) *http.Client {
	return &http.Client{Transport: Retrying(limit)(http.DefaultTransport)}
}

func get(limit time.Duration, url string) error {
	answer, err := patientClient(limit).Get(url)
	if err == nil {
		answer.Body.Close()
	}
	return err
}

// A request is repeated if the response is about the server's state, and otherwise not.
func TestPatience(t *testing.T) {
	tests := []struct {
		name    string
		answers []int // statuses of the responses; the last one repeats
		limit   time.Duration
		path    string
		want    int
		tries   int32
	}{
		{"at once", []int{200}, time.Minute, "/", 200, 1},
		{"after a restart", []int{503, 429, 500, 200}, time.Minute, "/", 200, 4},
		{"an answer that counts", []int{404}, time.Minute, "/", 404, 1},
		{"refused", []int{403}, time.Minute, "/", 403, 1},
		{"no time left", []int{503}, time.Millisecond, "/", 503, 1},
		{"a watch is none of its business", []int{503}, time.Minute, "/?watch=true", 503, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tries atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := int(tries.Add(1))
				if body, _ := io.ReadAll(r.Body); string(body) != "body" {
					t.Errorf("try %d has the body %q", n, body)
				}
				status := tt.answers[min(n, len(tt.answers))-1]
				if status == 503 && n == 1 && tt.limit < time.Second {
					w.Header().Set("Retry-After", "1")
				}
				w.WriteHeader(status)
			}))
			defer server.Close()
			answer, err := patientClient(tt.limit).Post(server.URL+tt.path, "text/plain", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != tt.want || tries.Load() != tt.tries || answer.Header.Get("Retry-After") != "" {
				t.Errorf("status %d after %d tries, Retry-After %q; want %d after %d", answer.StatusCode, tries.Load(), answer.Header.Get("Retry-After"), tt.want, tt.tries)
			}
		})
	}
}

// If a server stays unavailable, the error has the time since the first try. client-go does not repeat the request
// again.
func TestPatienceEnds(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	err := get(200*time.Millisecond, server.URL+"/api")
	var unanswered *unansweredError
	if !errors.As(err, &unanswered) || unanswered.tries < 2 || unanswered.request != "GET /api" {
		t.Fatalf("got %v", err)
	}
	var errno syscall.Errno
	if !errors.Is(err, errRefused) || errors.As(err, &errno) {
		t.Errorf("%v: is refused %v, tells its number %v", err, errors.Is(err, errRefused), errors.As(err, &errno))
	}
}

// A request is not repeated if the certificate is wrong.
func TestPatienceWithCertificates(t *testing.T) {
	var tries atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { tries.Add(1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // error of the handshake that must fail
	defer server.Close()
	err := get(time.Hour, server.URL)
	if err == nil || tries.Load() != 0 || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}
