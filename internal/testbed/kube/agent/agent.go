// Package agent is Tare's own process in a pod, and the connection to it.
//
// The agent is the first process of every pod that Tare makes (the command `tare-agent serve`). It starts the programs
// of
// trials as its children, so the kernel reports their CPU time and memory to the agent. It writes their output to
// files,
// each with a digest. If the connection breaks in a trial, the program keeps running. Tare then fetches the result over
// the next connection.
//
// A Client is the other end, in Tare: one exec into the pod that stays open and runs Connect. Connect joins the exec's
// streams to the agent's socket. The connection costs nothing while a trial runs. A program starts within milliseconds,
// without the API server, the kubelet and the container runtime.
package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"tare/internal/run/machine"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent/cgroup"
)

// Dir is the directory of the agent's socket and of programs' outputs: an emptyDir.
const Dir = "/var/run/tare"

// StoreLimit is the maximum size in bytes of the programs' outputs and inputs in Dir.
const StoreLimit = 1 << 30

// Program is where Install copies the agent to in a pod whose image is not Tare's.
const Program = "/var/run/tare/bin/tare-agent"

// dial opens a connection to the agent: an exec of `tare-agent connect` in the pod. Closing it ends the exec.
type dial func(ctx context.Context) (io.ReadWriteCloser, error)

// Facts are properties of a process in the pod, as the process reads them. Proofs on a cluster use Facts.
type Facts struct {
	Version   string `json:"version"`   // version of Tare in the image
	Kernel    string `json:"kernel"`    // kernel release, as of uname -r
	KernelTag string `json:"kernelTag"` // kernel version, as of uname -v
	// Sandbox is the name of the sandbox around the process, "gvisor" or "kata"; "" if Tare recognises none.
	Sandbox string `json:"sandbox,omitempty"`
	// Seccomp is the mode in /proc/self/status: "disabled", "strict" or "filter"; "" if the file has no mode.
	Seccomp    string `json:"seccomp"`
	NoNewPrivs string `json:"noNewPrivs"`       // the no_new_privs flag of the process, "0" or "1"
	CapEff     string `json:"capEff"`           // effective capabilities of a program of the agent, hexadecimal
	CapBnd     string `json:"capBnd,omitempty"` // bounding set of capabilities, hexadecimal
	// UIDMap is /proc/self/uid_map with single blanks; "0 0 4294967295" if the pod has no user namespace.
	UIDMap     string `json:"uidMap,omitempty"`
	AppArmor   string `json:"appArmor,omitempty"`   // profile in force: "cri-containerd.apparmor.d (enforce)"
	SELinux    string `json:"seLinux,omitempty"`    // SELinux context in force
	UID        int    `json:"uid"`                  // user id that programs run as
	BootID     string `json:"bootID,omitempty"`     // boot id of the kernel; nodes that share a kernel have the same boot id
	CPUModel   string `json:"cpuModel,omitempty"`   // CPU model in /proc/cpuinfo
	CPUs       int    `json:"cpus"`                 // number of CPUs that a program may use
	Hypervisor bool   `json:"hypervisor,omitempty"` // set if the CPU has the flag "hypervisor"
	// Confidential is the kind of confidential VM: "SEV-SNP" or "TDX"; "" if neither devices nor the kernel log show
	// one.
	Confidential string `json:"confidential,omitempty"`
	// Uplink is the network interface of the default route; nil if there is none.
	Uplink *machine.Uplink `json:"uplink,omitempty"`
}

// CountersRequest is a request for Counters.
type CountersRequest struct {
	// Cgroups lists the UIDs of pods whose cgroups the agent reads below Root. For a static pod (from the kubelet's
	// files), it is the annotation kubernetes.io/config.hash.
	Cgroups []string `json:"cgroups,omitempty"`
	// Root is the directory where the pod sees the node's /sys/fs/cgroup; "" if the pod does not see it.
	Root string `json:"root,omitempty"`
	// Quotas lists those of Cgroups whose quotas are read, too.
	Quotas []string `json:"quotas,omitempty"`
	// Follow asks the agent to begin sampling the memory of a pod; nil: nothing new is sampled.
	Follow *Follow `json:"follow,omitempty"`
	// Followed is the Name of an earlier Follow. The agent ends that sampling and returns the peak.
	Followed string `json:"followed,omitempty"`
}

// Follow asks for the peak of a pod's working set while a program runs. The kernel reports no such peak, so the agent
// takes samples.
type Follow struct {
	Name     string   `json:"name"`               // name given by the client, unique in its session
	Pod      string   `json:"pod"`                // UID of the pod; the pod's cgroup is below the CountersRequest's field Root
	Sidecars []string `json:"sidecars,omitempty"` // ids of containers whose memory is not counted
}

// Counters are running totals at one moment. A counter that is not visible in the agent's pod is left out.
type Counters struct {
	machine.Totals
	BootID string        `json:"bootID"`
	Own    *cgroup.Usage `json:"own,omitempty"` // usage of the agent's own container
	// Grouped is the CPU time of all processes on the node, without kernel threads; nil if unknown.
	Grouped *time.Duration   `json:"grouped,omitempty"`
	Pods    []cgroup.Usage   `json:"pods,omitempty"`   // usage of the pods in CountersRequest.Cgroups that were found
	Network testbed.Resource `json:"network,omitzero"` // counters of the pod's network namespace
	Peak    int64            `json:"peak,omitempty"`   // largest working set since Follow, in bytes; 0 if unknown
}

// A connection begins with one line from the client, and one of this form from the agent:
//
//	tare-agent/PROTOCOL VERSION
//
// Frames follow in both directions. A frame has the sizes of head and body (four bytes each, the most significant byte
// first), the head (a request or response in JSON), and the body (raw bytes). Responses may come in any order.

// protocol is the version of the frames. The form of the first line is the same in all versions.
const protocol = 1

const (
	greetingWord  = "tare-agent/"
	greetingLimit = 200       // maximum size of the first line, in bytes
	headLimit     = 2 << 20   // maximum size of a head, which may hold a program's arguments and environment, in bytes
	bodyLimit     = 16 << 20  // maximum size of a body, which may hold a program's standard input, in bytes
	chunkSize     = 256 << 10 // maximum size of a piece of output in one response, in bytes
)

type op string

const (
	opHello    op = "hello"    // the first request, which names the connection's session
	opStart    op = "start"    // start a program; the body is its standard input
	opWait     op = "wait"     // wait for a program's end
	opKill     op = "kill"     // kill a program, and wait until it and its descendants are gone
	opCPU      op = "cpu"      // get the CPU time used so far and the resident memory
	opFetch    op = "fetch"    // get a piece of an output, as the body of the response
	opDrop     op = "drop"     // kill a program and remove its outputs
	opFacts    op = "facts"    // get the Facts of a program in the pod
	opCounters op = "counters" // get the Counters of the node and of pods
	opPing     op = "ping"     // get an empty response, to test the connection
	opBye      op = "bye"      // kill all programs of the session and end it
)

// request is the head of a client's frame. A request that is repeated is carried out only once.
type request struct {
	ID              uint64           `json:"id"`
	Op              op               `json:"op"`
	Program         string           `json:"program,omitempty"` // name that the client chose for the program
	Hello           *hello           `json:"hello,omitempty"`
	Start           *startRequest    `json:"start,omitempty"`
	Fetch           *fetchRequest    `json:"fetch,omitempty"`
	CountersRequest *CountersRequest `json:"question,omitempty"`
}

type hello struct {
	Session string        `json:"session"`
	Lease   time.Duration `json:"lease"` // time without a request after which the session ends
}

type startRequest struct {
	Args   []string `json:"args"`
	Env    []string `json:"env,omitempty"`
	Dir    string   `json:"dir,omitempty"`
	Stdout bool     `json:"stdout,omitempty"` // keep the standard output
	Stderr bool     `json:"stderr,omitempty"` // keep the standard error
}

type fetchRequest struct {
	Stream string `json:"stream"` // "stdout" or "stderr"
	Offset int64  `json:"offset"` // first byte of the requested piece
}

type response struct {
	ID       uint64        `json:"id"`
	Failure  *failure      `json:"failure,omitempty"`
	End      *ending       `json:"end,omitempty"`
	CPU      time.Duration `json:"cpu,omitempty"`
	Memory   int64         `json:"memory,omitempty"` // resident memory, in bytes
	Facts    *Facts        `json:"facts,omitempty"`
	Counters *Counters     `json:"counters,omitempty"`
}

type ending struct {
	Code    int           `json:"code"`             // exit status; -1 if a signal ended the program
	Signal  string        `json:"signal,omitempty"` // name of the signal that ended the program
	Usage   testbed.Usage `json:"usage"`
	CPU     time.Duration `json:"cpu"` // CPU time of the program and its descendants
	Stdout  output        `json:"stdout"`
	Stderr  output        `json:"stderr"`
	Tail    string        `json:"tail,omitempty"`    // end of the standard error
	Failure string        `json:"failure,omitempty"` // reason why the trial cannot be used; may be set even if the exit status is 0
}

type output struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // digest of the output, in hexadecimal
}

type failure struct {
	Kind failureKind `json:"kind,omitempty"`
	Text string      `json:"text"`
}

type failureKind string

const (
	notInPath  failureKind = "not-in-path" // the program is not in PATH; the failure wraps exec.ErrNotFound
	notThere   failureKind = "not-there"   // the failure wraps fs.ErrNotExist
	notAllowed failureKind = "not-allowed" // the failure wraps fs.ErrPermission
	notKnown   failureKind = "not-known"   // the failure wraps ErrForgotten
)

var errFrame = errors.New("not a frame of the agent's protocol")

func encode(head any, body []byte) ([]byte, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if len(text) > headLimit || len(body) > bodyLimit {
		return nil, fmt.Errorf("a message of %d and %d bytes exceeds the agent's limits of %d and %d",
			len(text), len(body), headLimit, bodyLimit)
	}
	frame := make([]byte, 8, 8+len(text)+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(text)))
	binary.BigEndian.PutUint32(frame[4:], uint32(len(body)))
	return append(append(frame, text...), body...), nil
}

// decode reads one frame. It first calls reserve, unless nil, with the claimed size. Memory is allocated only for bytes
// that arrive.
func decode(r io.Reader, head any, reserve func(bytes int64) error) (body []byte, err error) {
	var sizes [8]byte
	if _, err := io.ReadFull(r, sizes[:]); err != nil {
		return nil, err
	}
	headSize, bodySize := binary.BigEndian.Uint32(sizes[:]), binary.BigEndian.Uint32(sizes[4:])
	if headSize > headLimit || bodySize > bodyLimit {
		return nil, fmt.Errorf("%w: it claims %d and %d bytes", errFrame, headSize, bodySize)
	}
	if reserve != nil {
		if err := reserve(int64(headSize) + int64(bodySize)); err != nil {
			return nil, err
		}
	}
	text, err := readExactly(r, int64(headSize))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return readExactly(r, int64(bodySize))
}

func readExactly(r io.Reader, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, size); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b.Bytes(), nil
}

func greeting(version string) string {
	return fmt.Sprintf("%s%d %s\n", greetingWord, protocol, plainVersion(version))
}

func readGreeting(r *bufio.Reader) (number int, version string, err error) {
	var line []byte
	for len(line) < greetingLimit {
		c, err := r.ReadByte()
		if err != nil {
			if len(line) > 0 {
				return 0, "", fmt.Errorf("the connection ended after %q: %w", line, err)
			}
			return 0, "", err
		}
		if c == '\n' {
			break
		}
		line = append(line, c)
	}
	rest, ok := strings.CutPrefix(string(line), greetingWord)
	if !ok {
		return 0, "", fmt.Errorf("this is not Tare's agent: it says %q", line)
	}
	if _, err := fmt.Sscanf(rest, "%d %s", &number, &version); err != nil {
		return 0, "", fmt.Errorf("this is not Tare's agent: it says %q", line)
	}
	return number, plainVersion(version), nil
}

// plainVersion removes all characters that a version of Tare cannot contain.
func plainVersion(version string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune(".-+_", r):
			return r
		}
		return -1
	}, version)
	return cmp.Or(plain[:min(len(plain), 100)], "unknown")
}

// versionError means that the image contains another version of Tare than this program.
type versionError struct {
	Image string
	Here  string
}

func (e *versionError) Error() string {
	return fmt.Sprintf("the image has Tare %s, but this is Tare %s: they would not measure alike; "+
		"build the image again (make image) or name one of this version in testbed.kubernetes.image", e.Image, e.Here)
}

// sameVersion reports whether programs of two versions may work together. An unknown version fits all other versions.
func sameVersion(a, b string) bool {
	known := func(v string) bool { return v != "" && v != "unknown" && v != "devel" }
	return !known(a) || !known(b) || plainVersion(a) == plainVersion(b)
}

func lookUp(program, dir string, env []string) (string, error) {
	found, refused, path := testbed.LookUp(program, dir, env)
	switch {
	case found != "":
		return found, nil
	case refused != "":
		return "", &failure{Kind: notAllowed, Text: fmt.Sprintf("%s may not be executed", testbed.Quote([]string{refused}))}
	}
	return "", &failure{Kind: notInPath, Text: fmt.Sprintf("%s is not in the pod's PATH=%s; is it in the image?",
		testbed.Quote([]string{program}), path)}
}

func failureOf(err error) *failure {
	var known *failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return &failure{Kind: notThere, Text: err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return &failure{Kind: notAllowed, Text: err.Error()}
	}
	return &failure{Text: err.Error()}
}

func (f *failure) Error() string { return f.Text }

func (f *failure) Unwrap() error {
	return map[failureKind]error{
		notInPath: exec.ErrNotFound, notThere: fs.ErrNotExist, notAllowed: fs.ErrPermission, notKnown: ErrForgotten,
	}[f.Kind]
}
