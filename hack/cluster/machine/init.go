package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endLimit is how long a program has to end after a signal.
const endLimit = 10 * time.Second

// Program is what to run on a machine. Its output goes to Machine.LogFile.
type Program struct {
	Name string
	Args []string // Args[0] is the program's absolute path
	Env  []string
}

// Status is how a program fares.
type Status struct {
	Program
	PID     int // as the machine numbers processes
	Running bool
	Ended   string // how, if it does not run
}

// RunInit turns this process into the init of a machine if Boot started it as
// one, and does not return then. To be called first thing in main.
func RunInit() {
	if len(os.Args) != 3 || os.Args[1] != initArg || os.Getpid() != 1 {
		return
	}
	if err := serve(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, setupFile))
	if err != nil {
		return err
	}
	var setup Setup
	if err := json.Unmarshal(content, &setup); err != nil {
		return fmt.Errorf("%s: %w", setupFile, err)
	}
	if err := setup.apply(dir); err != nil {
		return err
	}
	init := &Init{dir: dir}
	go init.reap()
	server := rpc.NewServer()
	if err := server.Register(init); err != nil {
		return err
	}
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		return err
	}
	server.Accept(listener) // until the machine is killed
	return nil
}

// Init is what a machine's init does on request, by net/rpc.
type Init struct {
	dir      string
	mu       sync.Mutex
	programs []*Status
}

// Start runs a program; one of the same name must not be running.
func (i *Init) Start(p Program, _ *struct{}) error {
	i.mu.Lock() // also keeps reap from seeing the process before it is listed
	defer i.mu.Unlock()
	if s := i.find(p.Name); s != nil && s.Running {
		return fmt.Errorf("%s is running already", p.Name)
	}
	log, err := os.OpenFile(filepath.Join(i.dir, p.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(p.Args[0], p.Args, &syscall.ProcAttr{
		Dir:   "/",
		Env:   p.Env,
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", strings.Join(p.Args, " "), err)
	}
	status := Status{Program: p, PID: pid, Running: true}
	if s := i.find(p.Name); s != nil {
		*s = status
	} else {
		i.programs = append(i.programs, &status)
	}
	return nil
}

// Stop ends a program and returns when it has ended.
func (i *Init) Stop(name string, _ *struct{}) error {
	return i.end(name, unix.SIGTERM, unix.SIGKILL)
}

// Kill ends a program without leave to finish, and returns when it has ended.
func (i *Init) Kill(name string, _ *struct{}) error {
	return i.end(name, unix.SIGKILL)
}

// end sends one signal after the other until the program has ended.
func (i *Init) end(name string, signals ...unix.Signal) error {
	i.mu.Lock()
	s := i.find(name)
	if s == nil || !s.Running {
		i.mu.Unlock()
		return fmt.Errorf("%s is not running", name)
	}
	pid := s.PID
	i.mu.Unlock()
	for _, signal := range signals {
		if err := unix.Kill(pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("end %s: %w", name, err)
		}
		for end := time.Now().Add(endLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			i.mu.Lock()
			running := s.Running
			i.mu.Unlock()
			if !running {
				return nil
			}
		}
	}
	return fmt.Errorf("%s did not end within %s of SIGKILL", name, endLimit)
}

// Restart starts a program again that has been started before.
func (i *Init) Restart(name string, _ *struct{}) error {
	i.mu.Lock()
	s := i.find(name)
	i.mu.Unlock()
	if s == nil {
		return fmt.Errorf("no program %s was ever started", name)
	}
	return i.Start(s.Program, nil)
}

// Programs lists what was started.
func (i *Init) Programs(_ struct{}, reply *[]Status) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.programs {
		*reply = append(*reply, *s)
	}
	return nil
}

func (i *Init) find(name string) *Status {
	for _, s := range i.programs {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// reap collects every process that ends: programs, and the orphans of
// containers, which are handed to the init of their PID namespace.
func (i *Init) reap() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	for {
		i.mu.Lock()
		for {
			var ws unix.WaitStatus
			pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if pid <= 0 || err != nil {
				break
			}
			for _, s := range i.programs {
				if s.Running && s.PID == pid {
					s.Running, s.Ended = false, ended(ws)
				}
			}
		}
		i.mu.Unlock()
		<-signals
	}
}

func ended(ws unix.WaitStatus) string {
	if ws.Signaled() {
		return "ended by " + unix.SignalName(ws.Signal())
	}
	return fmt.Sprintf("exit status %d", ws.ExitStatus())
}
