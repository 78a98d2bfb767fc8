package startup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/layer/program"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/startup/firstbyte"
)

type processStarter struct {
	config  *Config
	site    testbed.Site
	args    []string
	staying []string // further arguments: an instance that gets them keeps running
	up      []testbed.Process
}

func (c *Config) processStarter(ctx context.Context, site testbed.Site) (*processStarter, error) {
	args, err := program.At(site, c.Command).Resolve(ctx, nil)
	if err != nil {
		return nil, err
	}
	h := &processStarter{config: c, site: site, args: args}
	if len(args) > 0 {
		return h, nil
	}
	scratch, ok := testbed.As[testbed.Scratch](site)
	if !ok {
		return nil, fmt.Errorf("the site has no directory for Tare's own program: give the workload %s a program in run", name)
	}
	dir, err := scratch.Scratch()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "first-byte")
	h.args, h.staying = []string{path}, []string{"stay"}
	return h, firstbyte.Write(path)
}

// start starts an instance, and waits for its first byte.
func (h *processStarter) start(ctx context.Context, extra ...string) (p testbed.Process, first time.Duration, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, 0, err
	}
	said := make(chan error, 1)
	var at time.Time
	go func() {
		n, err := r.Read(make([]byte, 1))
		at = time.Now()
		if n > 0 {
			err = nil
		}
		said <- err
		_, _ = io.Copy(io.Discard, r) // reading all output keeps the program from blocking
		_ = r.Close()
	}()
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, h.config.Timeout.Std())
	defer cancel()
	args := slices.Concat(h.args, extra)
	p, err = h.site.Start(context.WithoutCancel(ctx), testbed.Host, testbed.Command{Args: args, Stdout: w, Subject: true})
	_ = w.Close()
	if err != nil {
		return nil, 0, err
	}
	if timed, ok := testbed.ProcessAs[testbed.Timed](p); ok {
		begun = timed.Begun() // time of the fork, so that Tare's own work before the fork does not count
	}
	select {
	case err = <-said:
	case <-limited.Done():
		return nil, 0, errors.Join(h.config.late(ctx, "nothing was printed"), p.Kill())
	}
	if err != nil { // no first byte: the program ended or closed its output
		stop := context.AfterFunc(limited, func() { _ = p.Kill() })
		_, why := p.Wait()
		stop()
		return nil, 0, broken(ctx, fmt.Sprintf("%s printed nothing", testbed.Quote(args)), why)
	}
	return p, at.Sub(begun), nil
}

// broken returns the error of a failed program. An exit status breaks a rule, and so does the text if there is no
// error. Other errors are unchanged.
func broken(ctx context.Context, text string, err error) error {
	exit, exited := errors.AsType[*testbed.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case exited:
		return workload.Invalidf(workload.RuleExit, "%s", exit.Error())
	case err != nil:
		return err
	}
	return workload.Invalidf(workload.RuleExit, "%s", text)
}

func (h *processStarter) once(ctx context.Context) (start, error) {
	p, first, err := h.start(ctx)
	if err != nil {
		return start{}, err
	}
	limited, cancel := context.WithTimeout(ctx, h.config.Timeout.Std())
	defer cancel()
	if h.config.Stays {
		err = p.Kill()
	} else {
		defer context.AfterFunc(limited, func() { _ = p.Kill() })()
	}
	used, why := p.Wait()
	switch {
	case h.config.Stays:
		err = cmp.Or(ctx.Err(), err)
	case limited.Err() != nil:
		err = h.config.late(ctx, "it had not ended")
	case why != nil:
		err = broken(ctx, "", why)
	}
	return start{First: first.Seconds(), used: used}, err
}

func (h *processStarter) stay(ctx context.Context, n int) error {
	for range n {
		p, _, err := h.start(ctx, h.staying...)
		if err != nil {
			return err
		}
		h.up = append(h.up, p)
	}
	return nil
}

// uses adds up the resources of all instances that keep running. If one of them has ended, uses returns an error.
func (h *processStarter) uses(ctx context.Context) (sum use, err error) {
	for _, p := range h.up {
		shared, ok := testbed.ProcessAs[testbed.Proportional](p)
		if !ok {
			return use{}, errors.New("this system does not count memory in proportional shares (PSS)")
		}
		one, err := shared.Proportional()
		if err != nil {
			return use{}, fmt.Errorf("memory of an instance: %w", err)
		}
		if one == 0 {
			_, why := p.Wait()
			return use{}, broken(ctx, "an instance has ended by itself", why)
		}
		used, err := p.CPU()
		if err != nil {
			return use{}, err
		}
		sum.Memory += one
		sum.CPU += used
	}
	if files, err := procfs.NewDefaultFS(); err == nil {
		if m, err := files.Meminfo(); err == nil && m.MemAvailableBytes != nil {
			sum.Available = int64(*m.MemAvailableBytes)
		}
	}
	return sum, nil
}

// end kills all instances at the same time, and waits for their end. The program's file stays for the next trial; the
// site removes the file.
func (h *processStarter) end(context.Context) error {
	var wait sync.WaitGroup
	errs := make([]error, len(h.up))
	for i, p := range h.up {
		wait.Go(func() { errs[i] = p.Kill() })
	}
	wait.Wait()
	h.up = nil
	return errors.Join(errs...)
}
