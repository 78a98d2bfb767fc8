package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
	"tare/testbed"
)

// program is a program under test: the leader of a session and process group of
// its own, and all its descendants.
type program struct {
	server *Server
	mark   string // value of markVariable in its environment
	dir    string // of its outputs
	stdout *capture
	stderr *capture
	pid    int
	begun  time.Time
	peak   proc.Peak

	// Guarded by server.processes.
	exited  bool   // the leader has ended
	killed  string // why the agent killed it of its own accord
	orphans []unix.Rusage
	known   map[int]bool // its processes when they were last looked at

	forked    chan struct{} // closed when it was started, or failed is set
	failed    *failure      // why it could not be started
	done      chan struct{} // closed when all is gone and end is set
	end       ending
	forgotten sync.Once
}

// start starts it. It is called once; others wait for forked.
func (p *program) start(order *startOrder, stdin []byte) {
	defer close(p.forked)
	if p.failed = p.fork(order, stdin); p.failed != nil {
		p.forget()
		close(p.done)
		return
	}
	exited := make(chan struct{})
	go p.watchPeak(exited)
	go func() {
		p.await()
		close(exited)
		p.finish()
		close(p.done)
	}()
}

func (p *program) fork(order *startOrder, stdin []byte) *failure {
	if len(order.Args) == 0 {
		return &failure{Text: "start: no command given"}
	}
	env := environment(order.Env, p.mark)
	path, failed := lookUp(order.Args[0], order.Dir, env)
	if failed != nil {
		return failed
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return &failure{Text: fmt.Sprintf("start %s: make a directory for its outputs: %v", testbed.Quote(order.Args), err)}
	}
	files, err := p.openStreams(order, stdin)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err == nil {
		err = p.exec(path, order, env, files)
	}
	if err != nil {
		p.closeStreams()
		return &failure{Kind: kindOf(err), Text: fmt.Sprintf("start %s: %v", testbed.Quote(order.Args), err)}
	}
	go p.stdout.run(func() { p.signal("") })
	go p.stderr.run(func() { p.signal("") })
	return nil
}

// openStreams gives the files that the program is to have as 0, 1 and 2.
func (p *program) openStreams(order *startOrder, stdin []byte) (files []*os.File, err error) {
	in, err := p.input(stdin)
	if err != nil {
		return nil, fmt.Errorf("give it its standard input: %w", err)
	}
	files = append(files, in)
	for _, s := range []struct {
		name string
		kept bool
		c    **capture
	}{{"stdout", order.Stdout, &p.stdout}, {"stderr", order.Stderr, &p.stderr}} {
		path := ""
		if s.kept {
			path = filepath.Join(p.dir, s.name)
		}
		c, writer, err := newCapture(s.name, path, p.server.outputLimit())
		if err != nil {
			return files, err
		}
		*s.c = c
		files = append(files, writer)
	}
	return files, nil
}

// closeStreams undoes openStreams where the program never ran.
func (p *program) closeStreams() {
	for _, c := range []*capture{p.stdout, p.stderr} {
		if c != nil {
			_ = c.pipe.Close()
			c.remove()
		}
	}
	p.stdout, p.stderr = nil, nil
}

// input makes a file of what the program is to read, so that feeding it takes no
// one's attention. The file has no name any more when the program reads it.
func (p *program) input(stdin []byte) (*os.File, error) {
	if len(stdin) == 0 {
		return os.Open(os.DevNull)
	}
	f, err := os.OpenFile(filepath.Join(p.dir, "stdin"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = f.Write(stdin); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// exec forks, and notes the new process before anybody may take it for an orphan.
func (p *program) exec(path string, order *startOrder, env []string, files []*os.File) error {
	var descriptors []uintptr
	for _, f := range files {
		descriptors = append(descriptors, f.Fd())
	}
	if order.Dir != "" {
		// The kernel's answer does not tell a missing directory from a missing program.
		if info, err := os.Stat(order.Dir); err != nil {
			return fmt.Errorf("its working directory: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("its working directory %s is none", order.Dir)
		}
	}
	p.server.processes.Lock()
	defer p.server.processes.Unlock()
	if p.server.closing {
		return errors.New("the agent is ending")
	}
	p.begun = time.Now()
	pid, err := syscall.ForkExec(path, order.Args, &syscall.ProcAttr{
		Dir: order.Dir, Env: env, Files: descriptors, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return &os.PathError{Op: "exec", Path: path, Err: err}
	}
	p.pid = pid
	p.peak.Look(pid)
	p.server.running[pid] = p
	return nil
}

// await returns when the leader has ended. It is not reaped yet, so its process
// id, group and session still belong to it.
func (p *program) await() {
	for {
		if err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	p.end.Usage.Wall = time.Since(p.begun)
}

// finish ends what the leader left behind, reaps everything and accounts for it.
func (p *program) finish() {
	used := p.cpu()
	p.server.processes.Lock()
	p.exited = true
	killed := p.killed
	p.server.processes.Unlock()

	left := p.endFamily()
	var errs [2]error
	p.end.Stdout, errs[0] = p.stdout.finish()
	p.end.Stderr, errs[1] = p.stderr.finish()
	p.end.Tail = string(p.stderr.tail)
	switch problem := cmp.Or(left, errs[0], errs[1]); {
	case problem != nil:
		p.end.Failure = problem.Error()
	case killed != "":
		p.end.Failure = killed
	}
	p.reap()
	p.end.CPU = max(used, p.end.Usage.CPU())
}

// reap takes the leader's status and usage from the kernel. From now on its
// process id may be another's.
func (p *program) reap() {
	var status syscall.WaitStatus
	var ru syscall.Rusage
	p.server.processes.Lock()
	defer p.server.processes.Unlock()
	delete(p.server.running, p.pid)
	for {
		_, err := syscall.Wait4(p.pid, &status, 0, &ru)
		if err == syscall.EINTR {
			continue
		}
		if err != nil && p.end.Failure == "" {
			p.end.Failure = fmt.Sprintf("how it ended is not known: %v", err)
		}
		break
	}
	p.end.Code = status.ExitStatus()
	if status.Signaled() {
		p.end.Signal = status.Signal().String()
	}
	floor := proc.OwnPeak()
	u := &p.end.Usage
	u.User, u.System = time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
	p.peak.Ended(ru.Maxrss*1024, floor)
	for _, o := range p.orphans {
		u.User += time.Duration(o.Utime.Nano())
		u.System += time.Duration(o.Stime.Nano())
		p.peak.Ended(o.Maxrss*1024, 0)
	}
	u.MaxRSS = p.peak.Bytes()
}

// signal kills the process group unless its leader has ended already: then finish
// is ending the rest. Where nobody asked for it, why says what it is for.
func (p *program) signal(why string) {
	p.server.processes.Lock()
	defer p.server.processes.Unlock()
	if p.pid > 0 && !p.exited {
		if p.killed == "" {
			p.killed = why
		}
		_ = unix.Kill(-p.pid, unix.SIGKILL)
	}
}

// stop kills it once it has been started.
func (p *program) stop(why string) {
	<-p.forked
	p.signal(why)
}

// forget removes its outputs.
func (p *program) forget() {
	p.forgotten.Do(func() {
		for _, c := range []*capture{p.stdout, p.stderr} {
			if c != nil {
				c.remove()
			}
		}
		_ = os.RemoveAll(p.dir)
	})
}

// environment is what a program sees: the agent's variables, those that were
// asked for, and the mark.
func environment(added []string, mark string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, markVariable+"=") {
			env = append(env, v)
		}
	}
	return append(append(env, added...), markVariable+"="+mark)
}
