package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"

	"tare/internal/workload/service"
)

// Config is the configuration that the server's process reads.
type Config struct {
	Listen string `json:"listen"` // "HOST:PORT"; port 0: any free port
	// Cert and Key are PEM. If they are set, the server speaks TLS.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	// Threads bounds the CPUs that the server uses at a time; 0 leaves the bound to Go's runtime.
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
