package mtls

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// recordMark is the beginning of the lines with records of connections. The server's proxy prints such a line
// on standard output when a connection, or a request on a connection, has ended.
const recordMark = "tare-told"

// connRecord is the server proxy's record of a connection. Unknown fields are "-".
type connRecord struct {
	from     string // address and port from which the client's proxy connected
	version  string // TLS version
	cipher   string
	identity string // identity in the peer's certificate
}

// parseRecord parses a line that starts with recordMark.
func parseRecord(line string) (connRecord, bool) {
	f := strings.Fields(line)
	if len(f) != 5 || f[0] != recordMark {
		return connRecord{}, false
	}
	return connRecord{from: f[1], version: f[2], cipher: f[3], identity: f[4]}, true
}

// logReader reads the standard output of a proxy. It keeps the records that were printed since the last call
// of record.
type logReader struct {
	mu      sync.Mutex
	rest    []byte // rest is the beginning of a line that has not ended yet
	records []connRecord
	news    chan struct{} // news receives a value when there is a new record
	// fetch returns the output since the last call of fetch. It is set if the proxy does not write to this
	// logReader.
	fetch func(context.Context) (string, error)
}

func newLogReader() *logReader { return &logReader{news: make(chan struct{}, 1)} }

// longestRecord is the length of the longest unfinished line that is kept, in bytes.
const longestRecord = 4096

// Write takes the next part of the output.
func (e *logReader) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = append(e.rest, p...)
	for {
		line, rest, ok := bytes.Cut(e.rest, []byte("\n"))
		if !ok {
			break
		}
		if t, ok := parseRecord(string(line)); ok {
			e.records = append(e.records, t)
		}
		e.rest = bytes.Clone(rest)
	}
	if len(e.rest) > longestRecord {
		e.rest = nil
	}
	select {
	case e.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

// record waits for the record of the connection from the given address. It drops all other records.
func (e *logReader) record(ctx context.Context, from string, limit time.Duration) (connRecord, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		if e.fetch != nil {
			text, err := e.fetch(ctx)
			if err != nil {
				return connRecord{}, err
			}
			_, _ = e.Write([]byte(text))
		}
		e.mu.Lock()
		records := e.records
		e.records = nil
		e.mu.Unlock()
		for _, t := range records {
			if t.from == from {
				return t, nil
			}
		}
		select {
		case <-e.news:
		case <-e.soon():
		case <-late.C:
			return connRecord{}, fmt.Errorf("the proxy printed no record of the connection from %[2]s within %[1]v", limit, from)
		case <-ctx.Done():
			return connRecord{}, context.Cause(ctx)
		}
	}
}

// soon returns a channel that fires when the output should be fetched again; nil if fetch is not set.
func (e *logReader) soon() <-chan time.Time {
	if e.fetch == nil {
		return nil
	}
	return time.After(50 * time.Millisecond)
}
