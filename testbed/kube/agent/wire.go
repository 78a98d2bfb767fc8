package agent

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tare/testbed"
)

// A connection begins with one line from the client, which the agent answers
// with its own:
//
//	tare-agent/PROTOCOL VERSION
//
// Frames follow in both directions: the sizes of head and body, four bytes each,
// the most significant first; the head, a request or a response in JSON; and the
// body, bytes as they are. Answers come in any order.

// protocol is the number of the frames' meaning. Two programs of different
// numbers do not try to understand each other. The first line never changes.
const protocol = 1

const (
	greetingWord  = "tare-agent/"
	greetingLimit = 200      // bytes of the first line
	headLimit     = 2 << 20  // bytes of a head: arguments and environment of a program
	bodyLimit     = 16 << 20 // bytes of a body: what a program is given to read
	chunkSize     = 256 << 10
)

// op is what a request asks for.
type op string

const (
	opHello    op = "hello"    // first of all: whose connection this is
	opStart    op = "start"    // start a program; the body is its standard input
	opWait     op = "wait"     // answered when the program has ended
	opKill     op = "kill"     // answered when the program and its descendants are gone
	opCPU      op = "cpu"      // CPU time used so far, and resident memory
	opFetch    op = "fetch"    // a piece of an output, in the body
	opDrop     op = "drop"     // kill the program and forget its outputs
	opFacts    op = "facts"    // Facts
	opCounters op = "counters" // Counters
	opPing     op = "ping"     // nothing
	opBye      op = "bye"      // kill and forget everything of this session
)

// request is the head of what a client sends. Every request may be repeated over
// another connection without doing anything twice.
type request struct {
	ID       uint64      `json:"id"`
	Op       op          `json:"op"`
	Program  string      `json:"program,omitempty"` // name given by the client
	Hello    *hello      `json:"hello,omitempty"`
	Start    *startOrder `json:"start,omitempty"`
	Fetch    *fetchOrder `json:"fetch,omitempty"`
	Question *Question   `json:"question,omitempty"`
}

type hello struct {
	Session string        `json:"session"` // random name of the client's session
	Lease   time.Duration `json:"lease"`   // after which a silent client is taken for gone
}

type startOrder struct {
	Args   []string `json:"args"`
	Env    []string `json:"env,omitempty"`
	Dir    string   `json:"dir,omitempty"`
	Stdout bool     `json:"stdout,omitempty"` // whether the output is to be kept
	Stderr bool     `json:"stderr,omitempty"`
}

type fetchOrder struct {
	Stream string `json:"stream"` // "stdout", "stderr"
	Offset int64  `json:"offset"`
}

// response is the head of an answer.
type response struct {
	ID       uint64        `json:"id"`
	Failure  *failure      `json:"failure,omitempty"`
	End      *ending       `json:"end,omitempty"`
	CPU      time.Duration `json:"cpu,omitempty"`
	Memory   int64         `json:"memory,omitempty"` // bytes
	Facts    *Facts        `json:"facts,omitempty"`
	Counters *Counters     `json:"counters,omitempty"`
}

// ending is how a program ended.
type ending struct {
	Code    int           `json:"code"`             // exit status; -1 when ended by a signal
	Signal  string        `json:"signal,omitempty"` // its name
	Usage   testbed.Usage `json:"usage"`
	CPU     time.Duration `json:"cpu"` // what Process.CPU gives from now on
	Stdout  output        `json:"stdout"`
	Stderr  output        `json:"stderr"`
	Tail    string        `json:"tail,omitempty"`    // the last of its standard error
	Failure string        `json:"failure,omitempty"` // why its result is worth nothing, whatever the exit status
}

// output is what an output that is kept must turn out to be.
type output struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// failure is an error on its way through the connection.
type failure struct {
	Kind failureKind `json:"kind,omitempty"`
	Text string      `json:"text"`
}

// failureKind says which error of Go's the client makes of a failure.
type failureKind string

const (
	notInPath  failureKind = "not-in-path" // exec.ErrNotFound
	notThere   failureKind = "not-there"   // fs.ErrNotExist
	notAllowed failureKind = "not-allowed" // fs.ErrPermission
	notKnown   failureKind = "not-known"   // the agent knows no such program
)

func (f *failure) Error() string { return f.Text }

// errFrame marks what no peer of the same protocol sends.
var errFrame = errors.New("not a frame of the agent's protocol")

// encode makes a frame.
func encode(head any, body []byte) ([]byte, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if len(text) > headLimit || len(body) > bodyLimit {
		return nil, fmt.Errorf("a message of %d and %d bytes is larger than the agent takes (%d and %d)", len(text), len(body), headLimit, bodyLimit)
	}
	frame := make([]byte, 8, 8+len(text)+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(text)))
	binary.BigEndian.PutUint32(frame[4:], uint32(len(body)))
	return append(append(frame, text...), body...), nil
}

// decode reads one frame. Memory is taken only as bytes arrive, whatever sizes
// they claim.
func decode(r io.Reader, head any) (body []byte, err error) {
	return decodeWithin(r, head, func(int64) error { return nil })
}

// decodeWithin is decode for who asks first whether there is room for so many bytes.
func decodeWithin(r io.Reader, head any, room func(bytes int64) error) (body []byte, err error) {
	var sizes [8]byte
	if _, err := io.ReadFull(r, sizes[:]); err != nil {
		return nil, err
	}
	headSize, bodySize := binary.BigEndian.Uint32(sizes[:]), binary.BigEndian.Uint32(sizes[4:])
	if headSize > headLimit || bodySize > bodyLimit {
		return nil, fmt.Errorf("%w: it claims %d and %d bytes", errFrame, headSize, bodySize)
	}
	if err := room(int64(headSize) + int64(bodySize)); err != nil {
		return nil, err
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

// greeting is a first line.
func greeting(version string) string {
	return fmt.Sprintf("%s%d %s\n", greetingWord, protocol, plainVersion(version))
}

// readGreeting reads the other's first line.
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

// plainVersion is a version without anything that no version of Tare has in it.
func plainVersion(version string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune(".-+_", r):
			return r
		}
		return -1
	}, version)
	if plain == "" {
		return "unknown"
	}
	return plain[:min(len(plain), 100)]
}

// VersionError says that the Tare in the image is not the one outside.
type VersionError struct {
	Image string // version in the image
	Here  string // version of this program
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the image has Tare %s, but this is Tare %s: they would not measure alike; build the image again (make image) or name one of this version in testbed.kubernetes.image",
		e.Image, e.Here)
}

// sameVersion says whether two versions go together. A build that does not know
// its own version (a test, for example) goes with every other of its protocol.
func sameVersion(a, b string) bool {
	known := func(v string) bool { return v != "" && v != "unknown" && v != "devel" }
	return !known(a) || !known(b) || plainVersion(a) == plainVersion(b)
}
