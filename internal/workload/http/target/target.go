// Package target is Tare's own HTTP server, the target of a load if the user gives no server. It speaks
// HTTP/1.1, HTTP/2 (over TLS, or without TLS with prior knowledge) and gRPC unary calls, on one port.
//
// The path of a request asks for one of these responses:
//
//	/                    "ok"
//	/bytes/N             N bytes
//	/delay/DURATION      "ok" after the duration, such as 20ms
//	/status/CODE         the status CODE
//	/served              the number of earlier requests
//	POST to these paths  the same responses, after reading the body
//
// The headers Tare-Answer-Bytes: N and Tare-Delay: DURATION ask for N bytes, or a delay, on any path. The response to
// a gRPC call is the message of the call, or N bytes. The header Tare-Grpc-Status makes a call fail with a status.
//
// The server uses net/http. Its cost per request is therefore typical of many servers.
package target

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tare/internal/workload/http/pause"
	"tare/internal/workload/service"
)

const (
	answerHeader = "Tare-Answer-Bytes"
	delayHeader  = "Tare-Delay"
	statusHeader = "Tare-Grpc-Status"
)

// most is the largest size of the body of a request or a response, in bytes.
const most = 64 << 20

// longest is the longest delay of a response.
const longest = 5 * time.Minute

// New makes the server. The caller starts it by ServeTLS with empty file names, or by Serve if conf is nil: no TLS.
func New(conf *tls.Config) *http.Server {
	served := new(atomic.Int64)
	counted := func(w http.ResponseWriter, r *http.Request) {
		if before := served.Add(1) - 1; r.URL.Path == "/served" {
			fmt.Fprint(w, before)
			return
		}
		serve(w, r)
	}
	s := &http.Server{Handler: http.HandlerFunc(counted), ReadHeaderTimeout: 30 * time.Second, TLSConfig: conf}
	s.ErrorLog = log.New(io.Discard, "", 0) // discarded: the log would hold only failed handshakes, which the client counts
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(conf != nil)
	s.Protocols.SetUnencryptedHTTP2(conf == nil)
	// The receive windows are large, so that requests do not wait for a small window. Loads may have many
	// streams.
	s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 10_000, MaxReceiveBufferPerConnection: 16 << 20, MaxReceiveBufferPerStream: 4 << 20}
	return s
}

type responseSpec struct {
	bytes  int // size of the response's body in bytes; -1: the request asks for no size
	delay  time.Duration
	status int
}

func serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		call(w, r)
		return
	}
	if r.ContentLength != 0 {
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, most)); err != nil {
			http.Error(w, "the body is too large, or broken", http.StatusBadRequest)
			return
		}
	}
	a, err := parse(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pause.For(a.delay)
	if a.bytes < 0 {
		w.WriteHeader(a.status)
		if a.status != http.StatusNoContent && a.status != http.StatusNotModified {
			_, _ = io.WriteString(w, "ok")
		}
		return
	}
	w.Header()["Content-Length"] = []string{strconv.Itoa(a.bytes)}
	w.Header()["Content-Type"] = octetStream
	w.WriteHeader(a.status)
	fill(w, a.bytes)
}

var octetStream = []string{"application/octet-stream"}

var filler = []byte(strings.Repeat("0123456789abcdef", 4<<10))

func fill(w io.Writer, n int) {
	for n > 0 {
		m, err := w.Write(filler[:min(n, len(filler))])
		if err != nil {
			return
		}
		n -= m
	}
}

// parse returns the response that a request asks for.
func parse(r *http.Request) (responseSpec, error) {
	a := responseSpec{bytes: -1, status: http.StatusOK}
	size, delay, status := r.Header.Get(answerHeader), r.Header.Get(delayHeader), ""
	name, value, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch name {
	case "bytes":
		size = value
	case "delay":
		delay = value
	case "status":
		status = value
	}
	var err error
	if size != "" {
		if a.bytes, err = strconv.Atoi(size); err != nil || a.bytes < 0 || a.bytes > most {
			return a, fmt.Errorf("%.40q bytes: it must be 0 to %d", size, most)
		}
	}
	if delay != "" {
		if a.delay, err = time.ParseDuration(delay); err != nil || a.delay < 0 || a.delay > longest {
			return a, fmt.Errorf("delay %.40q: it must be 0 to %v", delay, longest)
		}
	}
	if status != "" {
		if a.status, err = strconv.Atoi(status); err != nil || a.status < 200 || a.status > 599 {
			return a, fmt.Errorf("status %.40q: it must be 200 to 599", status)
		}
	}
	return a, nil
}

// call answers a gRPC call (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
func call(w http.ResponseWriter, r *http.Request) {
	w.Header()["Content-Type"] = grpcType
	message, err := readMessage(r.Body)
	a, wrong := parse(r)
	end := func(status, text string) {
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
		if text != "" {
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", text)
		}
	}
	if err := errors.Join(err, wrong); err != nil {
		w.WriteHeader(http.StatusOK)
		end("3", strings.ReplaceAll(err.Error(), "\n", "; ")) // INVALID_ARGUMENT
		return
	}
	pause.For(a.delay)
	if status := r.Header.Get(statusHeader); status != "" && status != "0" {
		w.WriteHeader(http.StatusOK)
		end(status, "as asked for")
		return
	}
	n := a.bytes
	if n < 0 {
		n = len(message)
	}
	var prefix [5]byte
	binary.BigEndian.PutUint32(prefix[1:], uint32(n))
	_, _ = w.Write(prefix[:])
	if a.bytes < 0 {
		_, _ = w.Write(message)
	} else {
		fill(w, n)
	}
	end("0", "")
}

var grpcType = []string{"application/grpc"}

func readMessage(body io.Reader) ([]byte, error) {
	var prefix [5]byte
	if _, err := io.ReadFull(body, prefix[:]); err != nil {
		return nil, errors.New("no message")
	}
	n := binary.BigEndian.Uint32(prefix[1:])
	if prefix[0] != 0 || n > most {
		return nil, fmt.Errorf("a message that is compressed, or of more than %d bytes", most)
	}
	message, err := io.ReadAll(io.LimitReader(body, int64(n)+1))
	if err != nil || len(message) != int(n) {
		return nil, errors.New("not one message of the length that it says")
	}
	return message, nil
}

// Config is the configuration that the server's process reads.
type Config struct {
	Listen string `json:"listen"` // "HOST:PORT"; port 0: any free port
	// Cert and Key are PEM. If they are set, the server speaks TLS.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	// Threads limits how many CPUs the server uses at a time; 0: Go's runtime decides.
	Threads int `json:"threads,omitempty"`
}

// Ready is the line that the process prints when it listens.
type Ready struct {
	Address string `json:"listening"` // "HOST:PORT"
}

// Run listens, writes its address as one line of JSON (Ready), and serves until ctx ends.
func Run(ctx context.Context, c Config, w io.Writer) error {
	conf, err := service.ServerTLS(c.Cert, c.Key)
	if err != nil {
		return err
	}
	if c.Threads > 0 {
		runtime.GOMAXPROCS(c.Threads)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return err
	}
	s := New(conf)
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := json.NewEncoder(w).Encode(Ready{Address: l.Addr().String()}); err != nil {
		l.Close()
		return fmt.Errorf("say that it listens: %w", err)
	}
	if conf != nil {
		err = s.ServeTLS(l, "", "")
	} else {
		err = s.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
