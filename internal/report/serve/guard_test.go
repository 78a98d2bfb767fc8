package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// cookieValue is the cookie that a token makes for a host.
func cookieValue(token, host string) string {
	_, value := (&access{token: token}).cookie(host)
	return value
}

func TestGuard(t *testing.T) {
	h := library(t, t.TempDir()).Handler(token, "bench.example")
	for _, c := range []struct {
		method, host, address, cookie string
		want                          int
	}{
		{"GET", "127.0.0.1:80", "/", token, 200},
		{"HEAD", "localhost:9999", "/", token, 200},
		{"GET", "[::1]:80", "/", token, 200},
		{"GET", "Bench.Example:80", "/", token, 200},
		{"GET", "evil.example", "/", token, 421},
		{"GET", "localhost.evil.example:80", "/?token=" + token, "", 421},
		{"GET", "", "/", token, 421},
		{"POST", "localhost", "/", token, 405},
		{"OPTIONS", "localhost", "/", "", 405},
		{"GET", "localhost", "/", "", 403},
		{"GET", "localhost", "/", "sesam", 403},
		{"GET", "localhost", "/live.js", "", 403},
		{"GET", "localhost", "/?token=wrong", "", 403},
		{"GET", "localhost", "/?token=" + token, "", 303},
	} {
		q := httptest.NewRequest(c.method, c.address, nil)
		q.Host = c.host
		if c.cookie != "" {
			name, kept := (&access{token: c.cookie}).cookie(c.host)
			q.AddCookie(&http.Cookie{Name: name, Value: kept})
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code != c.want {
			t.Errorf("%s %s at %q with cookie %q: %d, want %d", c.method, c.address, c.host, c.cookie, w.Code, c.want)
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || !strings.Contains(p, "frame-ancestors 'none'") {
			t.Errorf("%s %s: the policy is %q", c.method, c.address, p)
		}
	}
	for _, cookie := range []http.Cookie{{Name: "tare-80", Value: token}, {Name: "tare-81", Value: cookieValue(token, "localhost:80")}, {Name: "tare-81", Value: cookieValue(token, "localhost:82")}} {
		q := httptest.NewRequest(http.MethodGet, "/", nil)
		q.Host = "localhost:81"
		q.AddCookie(&cookie)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, q); w.Code != http.StatusForbidden {
			t.Errorf("with the cookie %v: %d", cookie, w.Code)
		}
	}
	q := httptest.NewRequest(http.MethodGet, "http://localhost//evil.example/?token="+token, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	cookie := w.Header().Get("Set-Cookie")
	if to := w.Header().Get("Location"); to != "/evil.example/" || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("it leads to %q with the cookie %q", to, cookie)
	}
}
