package serve

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"time"

	"tare/internal/report/document"
	"tare/internal/report/html"
)

// Files that only a server has: the script that keeps a page up to date, and the events that it reads.
const (
	scriptFile = "live.js"
	eventsFile = "events" // in the directory of a run
)

//go:embed live.js
var script []byte

// Handler responds to readers who know the token. Host is the name or address that the server listens on.
func (l *Library) Handler(token, host string) http.Handler {
	return &guard{token: token, host: host, next: &handler{library: l}}
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

type handler struct{ library *Library }

func (h *handler) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	err := h.respond(w, q)
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

// respond sends the page or file at the request's address.
func (h *handler) respond(w http.ResponseWriter, q *http.Request) error {
	address := strings.TrimPrefix(q.URL.Path, "/")
	switch address {
	case scriptFile:
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(script) // fails if the reader has disconnected
		return nil
	case "", indexPage, historyPage:
		all, skipped, unread, err := h.library.read(longestWait)
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
	r, rest, err := h.library.find(below)
	if err != nil {
		return err
	}
	if rest == eventsFile {
		r.events(w, q, h.library.look)
		return nil
	}
	d, err := h.page(r, rest)
	switch {
	case err == nil && d == nil: // the run has ended
		w.Header().Set("Location", reportPage)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	case errors.Is(err, errNoPage):
		return h.file(w, q, r, rest)
	case err != nil:
		return err
	}
	return show(w, http.StatusOK, d)
}

var errNoPage = errors.New("no page")

// page makes a page of a run. It returns errNoPage if no page has this name, and nil if the run has ended
// and its report replaces the live page.
func (h *handler) page(r *run, name string) (*document.Document, error) {
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
		all, _, _, err := h.library.read(longestWait)
		if err != nil {
			return nil, err
		}
		return r.choose(all)
	case strings.HasPrefix(name, comparedDir):
		p, err := h.library.pair(r, name)
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
	_, _ = w.Write(page.Bytes()) // fails if the reader has disconnected
	return nil
}
