package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"tare/internal/report/document"
	"tare/internal/report/html"
)

// These addresses exist on a server only. One is the script that keeps a page up to date; the other is the events that
// this script reads.
const (
	scriptFile = "live.js"
	eventsFile = "events" // address of the events, below the address of a run
)

//go:embed live.js
var script []byte

// Handler responds to readers who know the token. Host is the name or address that the server listens on.
func (l *Library) Handler(token, host string) http.Handler {
	return &access{token: token, host: host, next: http.HandlerFunc(l.serve)}
}

// Serve responds to requests until ctx is cancelled. It then ends open requests within five seconds.
func Serve(ctx context.Context, listener net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err := server.Shutdown(patience)
		ended <- errors.Join(err, server.Close())
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

func (l *Library) serve(w http.ResponseWriter, q *http.Request) {
	err := l.respond(w, q)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		err = show(w, http.StatusNotFound, message("", "Not found", "There is no such page. Its run may have been removed or renamed."))
	default:
		err = show(w, http.StatusInternalServerError, message("", "This page cannot be made", err.Error()))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (l *Library) respond(w http.ResponseWriter, q *http.Request) error {
	address := strings.TrimPrefix(q.URL.Path, "/")
	switch address {
	case scriptFile:
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(script) // an error means that the reader has disconnected
		return nil
	case "", indexPage, historyPage:
		all, skipped, unread, err := l.read(longestWait)
		if err != nil {
			return err
		}
		if address != historyPage {
			return show(w, http.StatusOK, index(all, skipped, unread, true))
		}
		d, _ := timeline(all, skipped)
		return show(w, http.StatusOK, withUnread(d, unread))
	}
	below, ok := strings.CutPrefix(address, runsDir)
	if !ok {
		return fs.ErrNotExist
	}
	r, rest, err := l.find(below)
	if err != nil {
		return err
	}
	if rest == eventsFile {
		r.events(w, q, l.look)
		return nil
	}
	d, err := l.page(r, rest)
	switch {
	case err == nil && d == nil: // the run has ended
		w.Header().Set("Location", reportPage)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	case errors.Is(err, errNoPage):
		return l.file(w, q, r, rest)
	case err != nil:
		return err
	}
	return show(w, http.StatusOK, d)
}

var errNoPage = errors.New("no page")

// page makes a page of a run; an unknown name gives errNoPage. The live page of a run that has ended is nil, since the
// report replaces it.
func (l *Library) page(r *run, name string) (*document.Document, error) {
	switch {
	case name == reportPage:
		return r.report()
	case name == livePage:
		read := r.refresh()
		if read.err != nil || read.unfinished == nil {
			return nil, read.err
		}
		return read.live(time.Now()), nil
	case name == choosePage:
		all, _, _, err := l.read(longestWait)
		if err != nil {
			return nil, err
		}
		return r.choose(all)
	case strings.HasPrefix(name, comparedDir):
		p, err := l.comparison(r, name)
		if err != nil {
			return nil, err
		}
		return p.page()
	}
	return nil, errNoPage
}

func show(w http.ResponseWriter, status int, d *document.Document) error {
	var page bytes.Buffer
	if err := html.Write(&page, d); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // an error means that the reader has disconnected
	return nil
}

// access serves only readers who know the token, and only GET and HEAD requests. The first address that a reader opens
// contains the token. The response sets a cookie derived from the token, so that no link and no browser history
// contains the token. A server on another port may receive the cookie, which opens Tare's pages but does not reveal the
// token. Other web pages cannot make requests in the reader's name: the browser sends no cookie with them, and access
// rejects foreign host names that resolve to this machine.
type access struct {
	token, host string // host is the name or address that the server listens on
	next        http.Handler
}

// policy is the Content-Security-Policy of pages. It allows their styles and the script live.js.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (a *access) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	for name, value := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
		w.Header().Set(name, value)
	}
	token := q.URL.Query().Get("token")
	name, value := a.cookie(q.Host)
	switch cookie, err := q.Cookie(name); {
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "tare serve only shows: GET and HEAD", http.StatusMethodNotAllowed)
	case !a.named(q.Host):
		http.Error(w, "not the address that tare serve printed", http.StatusMisdirectedRequest)
	case equal(token, a.token):
		http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		to := url.URL{Path: "/" + strings.TrimLeft(q.URL.Path, `/\`)} // leading slashes are removed, because //other.host would lead to another server
		http.Redirect(w, q, to.String(), http.StatusSeeOther)
	case err == nil && equal(cookie.Value, value):
		a.next.ServeHTTP(w, q)
	default:
		http.Error(w, "open the address that tare serve printed: it ends with a token", http.StatusForbidden)
	}
}

func equal(one, other string) bool {
	a, b := sha256.Sum256([]byte(one)), sha256.Sum256([]byte(other))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// cookie returns the name and value of the cookie for a host. The name contains the port, since browsers share cookies
// between a machine's ports.
func (a *access) cookie(host string) (name, value string) {
	_, port, _ := net.SplitHostPort(host)
	sum := sha256.Sum256([]byte("cookie for " + port + " " + a.token))
	return "tare-" + port, hex.EncodeToString(sum[:])
}

// named reports whether a request names this machine: by an IP address, localhost, or the server's name. A stranger's
// web page does not. Any port is right, as behind a tunnel.
func (a *access) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || host != "" && host == strings.ToLower(a.host)
}
