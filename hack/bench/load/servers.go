package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"tare/internal/workload/http/load"
	"tare/internal/workload/http/pause"
	"tare/internal/workload/http/target"
)

// stall is how long the server stands still, and calm how long after its first request.
const (
	stall = 200 * time.Millisecond
	calm  = time.Second
)

// server is the main function of a server's process. It says where it listens, in a line; the
// one that delays says how long its answers took, in another, when its input ends.
func server(ctx context.Context, role string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if role == "builtin" {
		return target.Run(ctx, target.Config{Listen: "127.0.0.1:0"}, os.Stdout)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	if err := json.NewEncoder(os.Stdout).Encode(target.Ready{Address: l.Addr().String()}); err != nil {
		return err
	}
	s := &slow{stalls: role == "stalls", took: load.NewHistogram()}
	for n := uint64(0); ; n++ {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		} else if err != nil {
			return err
		}
		go s.serve(conn, rand.New(rand.NewPCG(n, 1)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.NewEncoder(os.Stdout).Encode(s.took)
}

// slow answers after a delay that is drawn (log-normal about 5 ms, at most 100), or stalls
// once; and keeps how long it really took.
type slow struct {
	stalls bool
	first  sync.Once
	until  sync.RWMutex

	mu   sync.Mutex
	took *load.Histogram
}

func (s *slow) serve(conn net.Conn, random *rand.Rand) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	for {
		for line := []byte("-"); len(bytes.TrimSpace(line)) > 0; {
			var err error
			if line, err = br.ReadSlice('\n'); err != nil {
				return
			}
		}
		began := time.Now()
		if s.stalls {
			s.first.Do(func() {
				time.AfterFunc(calm, func() {
					s.until.Lock()
					pause.For(stall)
					s.until.Unlock()
				})
			})
			s.until.RLock()
			s.until.RUnlock() //nolint:staticcheck // waits for the end of the stall
		} else {
			pause.For(min(time.Duration(5e6*math.Exp(random.NormFloat64()*0.6)), 100*time.Millisecond))
		}
		took := time.Since(began)
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
		s.mu.Lock()
		s.took.Record(took)
		s.mu.Unlock()
	}
}

// running is a server's process.
type running struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *json.Decoder
	url   string
}

// serve starts a server.
func (b *bench) serve(role string) (*running, error) {
	r := &running{cmd: exec.CommandContext(b.ctx, "/proc/self/exe", "-role", role)}
	r.cmd.Stderr = os.Stderr
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.stdin, r.out = stdin, json.NewDecoder(stdout)
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	var ready target.Ready
	if err := r.out.Decode(&ready); err != nil {
		_ = r.stop(nil)
		return nil, fmt.Errorf("the server does not listen: %w", err)
	}
	r.url = "http://" + ready.Address
	return r, nil
}

// stop ends the server, and reads its last words.
func (r *running) stop(last any) error {
	r.stdin.Close()
	var err error
	if last != nil {
		err = r.out.Decode(last)
	}
	if failed := r.cmd.Wait(); failed != nil && !strings.Contains(failed.Error(), "signal") {
		err = errors.Join(err, failed)
	}
	return err
}
