// Package firstbyte measures on a cluster when a program prints its first byte, for the workload startup. It has a
// program that prints one byte, and two helpers.
//
// The helper Caller runs in each pod that a trial starts. It starts the program, reads the first byte of its output,
// and then calls the helper Listener over the network. Listener runs in the arm's own pod, and so knows the time of the
// call at once. The kubelet looks at a pod's containers only once a second.
//
// The package is small, since every pod gets a copy of tare-agent, which contains it.
package firstbyte

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// Caller is the first process of each pod that a trial starts. It starts the command under test, and calls the Listener
// at its first byte. Caller runs until it is killed.
var Caller = testbed.Helper{Name: "startup-call", Run: func(ctx context.Context) error { return call(ctx, os.Args[1:]) }}

// Listener receives the calls of started pods. It is a helper, which also answers each Request.
var Listener = testbed.Helper{Name: "startup-listen", Run: func(ctx context.Context) error { return new(listener).serve(ctx) }}

var Helpers = []testbed.Helper{Caller, Listener}

// CallerCommand returns the arguments and the environment of a process that acts as a Caller.
func CallerCommand(self, address, name, path string, program testbed.Command) (args, env []string) {
	args = slices.Concat([]string{self, address, name, path}, program.Args)
	return args, append(slices.Clone(program.Env), testbed.HelperVariable+"="+Caller.Name)
}

func call(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("%q: the arguments are ADDRESS NAME PATH PROGRAM…", args)
	}
	address, name, path, program := args[0], args[1], args[2], args[3:]
	if slices.Contains(program, path) {
		if err := Write(path); err != nil {
			return err
		}
	}
	if err := os.Unsetenv(testbed.HelperVariable); err != nil {
		return err
	}
	said, ended, err := begin(ctx, program)
	if err != nil {
		return err
	}
	if n, _ := said.Read(make([]byte, 1)); n == 0 {
		if err := <-ended; err != nil {
			return fmt.Errorf("%s printed nothing: %w", testbed.Quote(program), err)
		}
		return fmt.Errorf("%s printed nothing", testbed.Quote(program))
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // the program's further output is discarded
	to, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("call the listener as %s: %w", name, err)
	}
	_, err = to.Write([]byte(name + "\n"))
	if err := errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("call the listener as %s: %w", name, err)
	}
	<-ctx.Done() // the program has ended, but the pod must keep running
	return nil
}

// begin starts the program. It returns the program's output, and a channel that receives the error with which the
// program ends.
func begin(ctx context.Context, program []string) (said io.ReadCloser, ended <-chan error, err error) {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stderr = os.Stderr // standard error goes to the pod's log
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout = w
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return nil, nil, err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	return r, over, nil
}

// Request asks the Listener to wait for a call by the caller named Wait. An empty Wait asks for the port at which the
// Listener takes calls.
type Request struct {
	Wait string        `json:"wait,omitempty"`
	For  time.Duration `json:"for,omitempty"` // longest time to wait
}

// Response is the response to a Request.
type Response struct {
	Port   int  `json:"port,omitempty"`
	Called bool `json:"called,omitempty"`
	// Ago is the time since the program called the listener. It is set only with Called.
	Ago time.Duration `json:"ago,omitempty"`
}

type listener struct {
	mu     sync.Mutex
	at     map[string]time.Time
	port   int
	called chan struct{} // each call closes the channel and puts a new one in its place
}

const mostName = 256

func (l *listener) serve(ctx context.Context) error {
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", ":0")
	if err != nil {
		return fmt.Errorf("listen for the calls of pods: %w", err)
	}
	defer func() { _ = on.Close() }()
	l.at, l.called, l.port = map[string]time.Time{}, make(chan struct{}), on.Addr().(*net.TCPAddr).Port
	go l.accept(on)
	return helperrpc.Main(ctx, l.obey)
}

func (l *listener) accept(on net.Listener) {
	for {
		c, err := on.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(helperrpc.Limit))
			text, _ := io.ReadAll(io.LimitReader(c, mostName))
			now := time.Now()
			name, whole := strings.CutSuffix(string(text), "\n")
			if !whole {
				return
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if _, known := l.at[name]; !known {
				l.at[name] = now
			}
			close(l.called)
			l.called = make(chan struct{})
		}()
	}
}

func (l *listener) obey(ctx context.Context, o Request) (any, error) {
	if o.Wait == "" {
		return Response{Port: l.port}, nil
	}
	limit := time.NewTimer(o.For)
	defer limit.Stop()
	for {
		l.mu.Lock()
		at, known := l.at[o.Wait]
		called := l.called
		l.mu.Unlock()
		if known {
			return Response{Called: true, Ago: time.Since(at)}, nil
		}
		select {
		case <-called:
		case <-limit.C:
			return Response{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Byte is the byte that the program prints.
const Byte = '.'

// The program is assembled here. It has a few hundred bytes, needs no library, dynamic loader or runtime, and takes
// almost no time itself. So nearly all of a start's time is the sandbox's:
//
//	write(1, ".", 1)
//	argc > 1: wait for a signal, for ever
//	else: exit_group(0)

// amd64 is the program's code for x86-64. The printed byte follows the code.
var amd64 = []byte{
	0xb8, 1, 0, 0, 0, // mov eax, 1 (write)
	0x89, 0xc7, // mov edi, eax
	0xbe, 0xa0, 0x00, 0x40, 0x00, // mov esi, base + headers + 40
	0x89, 0xc2, // mov edx, eax
	0x0f, 0x05, // syscall
	0x83, 0x3c, 0x24, 0x01, // cmp dword [rsp], 1 (argc)
	0x77, 0x09, // ja idle
	0x31, 0xff, // xor edi, edi
	0xb8, 231, 0, 0, 0, // mov eax, 231 (exit_group)
	0x0f, 0x05, // syscall
	0xb8, 34, 0, 0, 0, // idle: mov eax, 34 (pause)
	0x0f, 0x05, // syscall
	0xeb, 0xf7, // jmp idle
}

// arm64 is the program's code for AArch64.
var arm64 = []uint32{
	0xd2800808, // mov x8, #64 (write)
	0xd2800020, // mov x0, #1
	0x10000201, // adr x1, 64 bytes ahead
	0xd2800022, // mov x2, #1
	0xd4000001, // svc #0
	0xf94003e9, // ldr x9, [sp] (argc)
	0xf100053f, // cmp x9, #1
	0x54000088, // b.hi idle
	0xd2800000, // mov x0, #0
	0xd2800bc8, // mov x8, #94 (exit_group)
	0xd4000001, // svc #0
	0xd2800000, // idle: mov x0, #0
	0xd2800001, // mov x1, #0
	0xd2800002, // mov x2, #0
	0xd2800003, // mov x3, #0
	0xd2800928, // mov x8, #73 (ppoll without a descriptor or timeout)
	0xd4000001, // svc #0
	0x17fffffa, // b idle
}

// base is the load address of the executable. headers is the size, in bytes, of its ELF header and program header.
const (
	base    = 0x400000
	headers = 64 + 56
)

// machines holds the code and ELF machine number of each architecture.
var machines = map[string]struct {
	number uint16
	code   func() []byte
}{
	"amd64": {62, func() []byte { return amd64 }},
	"arm64": {183, func() []byte {
		var code []byte
		for _, word := range arm64 {
			code = binary.LittleEndian.AppendUint32(code, word)
		}
		return code
	}},
}

// Program returns a static Linux executable for an architecture (GOARCH). It prints Byte and ends. With any argument it
// runs until it is killed.
func Program(architecture string) ([]byte, error) {
	m, ok := machines[architecture]
	if !ok {
		return nil, fmt.Errorf("Tare has no program that prints a byte for %s: give the workload a program in run", architecture)
	}
	code := append(m.code(), Byte)
	le := binary.LittleEndian
	file := append([]byte("\x7fELF"), 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0) // 64 bits, little-endian, version 1
	file = le.AppendUint16(file, 2)                                       // ET_EXEC
	file = le.AppendUint16(file, m.number)
	file = le.AppendUint32(file, 1)
	file = le.AppendUint64(file, base+headers) // address of the first instruction
	file = le.AppendUint64(file, 64)           // offset of the program header
	file = le.AppendUint64(file, 0)            // no section headers
	file = le.AppendUint32(file, 0)
	for _, n := range []uint16{64, 56, 1, 64, 0, 0} { // sizes and numbers of the headers
		file = le.AppendUint16(file, n)
	}
	size := uint64(headers + len(code))
	file = le.AppendUint32(file, 1) // PT_LOAD
	file = le.AppendUint32(file, 5) // read, execute
	for _, n := range []uint64{0, base, base, size, size, 0x10000} {
		file = le.AppendUint64(file, n)
	}
	return append(file, code...), nil
}

// Write writes the program for this architecture to a file that every user may execute. It replaces an existing file.
func Write(path string) error {
	text, err := Program(runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o755); err != nil {
		return fmt.Errorf("the program that prints a byte: %w", err)
	}
	if err := os.Chmod(path+".new", 0o755); err != nil { // the umask may have removed permissions
		return fmt.Errorf("the program that prints a byte: %w", err)
	}
	return os.Rename(path+".new", path)
}
