package mtls

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// toldMark begins the lines on standard output in which the server's proxy tells of a
// connection, or of a request on it, when that has ended.
const toldMark = "tare-told"

// told is what the server's proxy knew of a connection: "-" where there was nothing to know.
type told struct {
	from     string // address and port from which the proxy passed it on
	version  string // of TLS
	cipher   string
	identity string // of the peer, as its certificate has it
}

// parseTold reads such a line.
func parseTold(line string) (told, bool) {
	f := strings.Fields(line)
	if len(f) != 5 || f[0] != toldMark {
		return told{}, false
	}
	return told{from: f[1], version: f[2], cipher: f[3], identity: f[4]}, true
}

// ear takes the standard output of a proxy. It keeps what was told since it was last asked.
type ear struct {
	mu    sync.Mutex
	rest  []byte // of a line that has not ended
	heard []told
	news  chan struct{} // has one when there is something new
	// fetch gets what the proxy has printed since the last time, where it is not written here.
	fetch func(context.Context) (string, error)
}

func newEar() *ear { return &ear{news: make(chan struct{}, 1)} }

// longestTold is the longest line that is kept, in bytes.
const longestTold = 4096

// Write takes the next part of the output.
func (e *ear) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = append(e.rest, p...)
	for {
		line, rest, ok := bytes.Cut(e.rest, []byte("\n"))
		if !ok {
			break
		}
		if t, ok := parseTold(string(line)); ok {
			e.heard = append(e.heard, t)
		}
		e.rest = bytes.Clone(rest)
	}
	if len(e.rest) > longestTold {
		e.rest = nil
	}
	select {
	case e.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

// of waits until something is told of the connection that was passed on from there, and
// forgets the rest.
func (e *ear) of(ctx context.Context, from string, limit time.Duration) (told, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		if e.fetch != nil {
			text, err := e.fetch(ctx)
			if err != nil {
				return told{}, err
			}
			_, _ = e.Write([]byte(text))
		}
		e.mu.Lock()
		heard := e.heard
		e.heard = nil
		e.mu.Unlock()
		for _, t := range heard {
			if t.from == from {
				return t, nil
			}
		}
		select {
		case <-e.news:
		case <-e.soon():
		case <-late.C:
			return told{}, fmt.Errorf("nothing told within %v of the connection from %s", limit, from)
		case <-ctx.Done():
			return told{}, context.Cause(ctx)
		}
	}
}

// soon is when to fetch again; never where nothing is fetched.
func (e *ear) soon() <-chan time.Time {
	if e.fetch == nil {
		return nil
	}
	return time.After(50 * time.Millisecond)
}
