package mtls

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

const readyLimit = 20 * time.Second // timeout of a proxy's start

type proxy struct {
	process testbed.Process
	admin   admin
	log     *logReader
	ended   chan struct{} // closed when the proxy has ended; the field why then holds the reason
	why     error
}

// start starts the proxy of a side, waits until it accepts connections, and removes its files.
func (a *active) start(ctx context.Context, s side, path string) (_ *proxy, err error) {
	program := a.implementation()
	p := plan{Config: a.Config, Side: s, Mark: mark, Listen: s.listen()}
	if s == clientSide {
		p.From = a.own[clientSide]
	}
	files, err := a.files(p)
	if err != nil {
		return nil, err
	}
	self, err := owned.This()
	if err != nil {
		return nil, err
	}
	become := becomeRequest{Dir: self.Name(kind) + rand.Text(), Files: files, Args: append([]string{path}, program.args(p)...), ToFile: a.remote}
	where := a.at[s]
	cmd, err := helperrpc.Command(a.site, where, kind, request{Become: &become})
	if err != nil {
		return nil, err
	}
	helper := a.helpers[where]
	defer func() { // the files are removed even if the process has failed to become the proxy
		err = errors.Join(err, helper.Ask(context.WithoutCancel(ctx), request{Forget: become.Dir}, nil))
	}()
	up := &proxy{log: newLogReader(), ended: make(chan struct{})}
	up.admin = admin{helper: helper, address: program.admin("tare-mtls-" + s.String()), method: program.method, side: s}
	if !a.remote {
		cmd.Stdout = up.log
	} else {
		up.log.fetch = func(ctx context.Context) (text string, err error) {
			err = helper.Ask(ctx, request{Output: become.Dir}, &text)
			return text, err
		}
	}
	up.process, err = a.site.Start(context.WithoutCancel(ctx), where, cmd)
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(up.ended)
		_, up.why = up.process.Wait()
		if exit := (*testbed.ExitError)(nil); errors.As(up.why, &exit) {
			exit.Args = become.Args // shows the command line of the proxy: the helper's process has become the proxy
		}
	}()
	if err := up.await(ctx, program); err != nil {
		return nil, errors.Join(err, up.end())
	}
	return up, nil
}

func (a *active) files(p plan) (map[string]string, error) {
	program, config := p.implementation(), &strings.Builder{}
	if err := program.configure.Execute(config, p.values()); err != nil {
		return nil, err
	}
	files := map[string]string{program.file: config.String()}
	if a.Encrypts() {
		own := a.ids.client
		if p.Side == serverSide {
			own = a.ids.server
		}
		files["authority.crt"] = a.ids.authority
		files["own.crt"], files["own.key"] = own.Certificate, own.Key
		files["own.pem"] = own.Certificate + own.Key
	}
	return files, nil
}

func (p *proxy) await(ctx context.Context, program *implementation) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		_, err := p.admin.ask(ctx, program.ready)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return p.failed()
		case <-ctx.Done():
			return fmt.Errorf("not ready within %v: %w", readyLimit, err)
		case <-time.After(pause):
		}
	}
}

// failed returns the reason why the proxy has ended; nil if it runs.
func (p *proxy) failed() error {
	select {
	case <-p.ended:
		if p.why == nil {
			return errors.New("the proxy has ended")
		}
		return p.why
	default:
		return nil
	}
}

func (p *proxy) end() error {
	err := p.process.Kill()
	<-p.ended
	return err
}

// recordMark begins a line that records a connection. The server's proxy prints it when the connection, or a request on
// it, has ended.
const recordMark = "tare-told"

// connRecord is the server proxy's record of a connection. Unknown fields are "-".
type connRecord struct {
	from     string // address and port from which the client's proxy connected
	version  string // TLS version
	cipher   string
	identity string // identity in the peer's certificate
}

// logReader reads the standard output of a proxy and keeps the records of connections.
type logReader struct {
	mu      sync.Mutex
	rest    []byte // rest is the beginning of the last line, which has not ended yet
	records []connRecord
	news    chan struct{} // receives a value when output has been read
	// fetch returns the output since the last call of fetch; nil if the proxy itself writes to this logReader.
	fetch func(context.Context) (string, error)
}

func newLogReader() *logReader { return &logReader{news: make(chan struct{}, 1)} }

const longestRecord = 4096 // the largest size in bytes of an unfinished line

// Write takes the next part of the output. It returns no error.
func (e *logReader) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = append(e.rest, p...)
	for {
		line, rest, ok := bytes.Cut(e.rest, []byte("\n"))
		if !ok {
			break
		}
		if f := strings.Fields(string(line)); len(f) == 5 && f[0] == recordMark {
			e.records = append(e.records, connRecord{from: f[1], version: f[2], cipher: f[3], identity: f[4]})
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

// record waits for the record of the connection that came from the address from. It drops all other records.
func (e *logReader) record(ctx context.Context, from string, limit time.Duration) (connRecord, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		var soon <-chan time.Time // fires when it is time to fetch the output again
		if e.fetch != nil {
			text, err := e.fetch(ctx)
			if err != nil {
				return connRecord{}, err
			}
			_, _ = e.Write([]byte(text))
			soon = time.After(50 * time.Millisecond)
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
		case <-soon:
		case <-late.C:
			return connRecord{}, fmt.Errorf("the proxy printed no record of the connection from %[2]s within %[1]v", limit, from)
		case <-ctx.Done():
			return connRecord{}, context.Cause(ctx)
		}
	}
}
