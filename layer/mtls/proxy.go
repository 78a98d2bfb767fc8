package mtls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tare/layer"
	"tare/machine/proc"
	"tare/testbed"
)

// readyLimit is how long a proxy may take to start.
const readyLimit = 20 * time.Second

// proxy is one that runs.
type proxy struct {
	process testbed.Process
	admin   admin
	ear     *ear
	ended   chan struct{} // closed when it has; then why is set
	why     error
}

// start starts the proxy of a side and waits until it takes connections. Its files are gone
// after that.
func (a *active) start(ctx context.Context, s side, path string) (_ *proxy, err error) {
	program := a.Program.implementation()
	dir, err := os.MkdirTemp("", "tare-mtls-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p := plan{settings: a.settings, Side: s, Dir: dir, Mark: mark, Listen: s.listen()}
	if s == clientSide {
		p.From = a.own[clientSide]
	}
	if err := a.write(p); err != nil {
		return nil, err
	}
	where := s.place(a.Placement)
	up := &proxy{ear: newEar(), ended: make(chan struct{}), admin: admin{helper: a.helpers[where], address: program.admin("tare-mtls-" + s.String()), side: s}}
	// It outlives the context, until it is taken down.
	up.process, err = a.site.Start(context.WithoutCancel(ctx), where, testbed.Command{Args: append([]string{path}, program.args(p)...), Stdout: up.ear})
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(up.ended)
		_, up.why = up.process.Wait()
	}()
	if err := up.await(ctx, program); err != nil {
		return nil, errors.Join(err, up.end())
	}
	return up, nil
}

// write writes the files of a proxy.
func (a *active) write(p plan) error {
	config, err := p.Program.implementation().configure(p)
	if err != nil {
		return err
	}
	files := map[string][]byte{p.Program.implementation().file: config}
	if a.encrypts() {
		own := a.ids.client
		if p.Side == serverSide {
			own = a.ids.server
		}
		files["authority.crt"] = []byte(a.ids.authority)
		files["own.crt"], files["own.key"] = []byte(own.Certificate), []byte(own.Key)
		files["own.pem"] = []byte(own.Certificate + own.Key)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(p.Dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// await waits until it takes connections.
func (p *proxy) await(ctx context.Context, program *implementation) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := program.ready(ctx, p.admin)
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

// failed says how it has ended; nil if it has not.
func (p *proxy) failed() error {
	select {
	case <-p.ended:
		if p.why == nil {
			return errors.New("it has ended")
		}
		return p.why
	default:
		return nil
	}
}

// cost is what it has used.
func (p *proxy) cost() (layer.Cost, error) {
	used, err := p.process.CPU()
	if err != nil {
		return layer.Cost{}, err
	}
	c := layer.Cost{CPU: used}
	if here, ok := p.process.(interface{ PID() int }); ok {
		if stat, err := proc.Read(here.PID()); err == nil {
			c.Memory = int64(stat.ResidentMemory())
		}
	}
	return c, nil
}

// end ends it.
func (p *proxy) end() error {
	err := p.process.Kill()
	<-p.ended
	return err
}
