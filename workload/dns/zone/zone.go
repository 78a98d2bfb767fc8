// Package zone is a DNS server of Tare's own that counts what it is asked. Names of its zone
// say themselves for how long their addresses may be kept, and under which label questions
// for them are counted: one server serves trials of any kind, and is told nothing of them.
//
//	host-17.ttl-5.t3.tare.test.   addresses for 5 seconds, counted as t3
//
// A is answered with an IPv4 address and AAAA with an IPv6 one, both of the blocks for
// documentation; other types have no record, and other names do not exist. It answers over UDP and
// TCP, or over UDP and TLS.
package zone

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// origin is the zone, of the top-level domain that is for tests (RFC 2606).
const origin = "tare.test."

// Name is that of host i: its addresses may be kept for ttl, in whole seconds, and questions for
// it are counted under the label, which is of letters and digits.
func Name(i int, ttl time.Duration, label string) string {
	return fmt.Sprintf("host-%d.ttl-%d.%s.%s", i, int64(ttl/time.Second), label, origin)
}

// name is one of the zone.
type name struct {
	text  string // in lower case
	ttl   uint32 // s
	label string
}

// read takes a name apart; false: it does not exist.
func read(n dnsmessage.Name) (name, bool) {
	text := strings.ToLower(n.String())
	rest, of := strings.CutSuffix(text, "."+origin)
	parts := strings.Split(rest, ".")
	if !of || len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return name{}, false
	}
	seconds, is := strings.CutPrefix(parts[1], "ttl-")
	ttl, err := strconv.ParseUint(seconds, 10, 31)
	return name{text, uint32(ttl), parts[2]}, is && err == nil
}

// Kind is what is in an answer.
type Kind string

// The kinds.
const (
	A        Kind = "a"        // an IPv4 address
	AAAA     Kind = "aaaa"     // an IPv6 address
	Empty    Kind = "empty"    // no record of that type
	NXDomain Kind = "nxdomain" // no such name
	Failed   Kind = "error"    // of a query that cannot be read, or asks for something else than records
)

// Kinds lists them.
var Kinds = []Kind{A, AAAA, Empty, NXDomain, Failed}

// The addresses of all hosts (RFC 5737, RFC 3849).
var (
	ipv4 = [4]byte{192, 0, 2, 1}
	ipv6 = [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}
)

// answer makes the answer to a query in into. It is false for what is no query: a server keeps
// silent then.
func answer(query, into []byte) (reply []byte, of name, kind Kind, ok bool) {
	var p dnsmessage.Parser
	asked, err := p.Start(query)
	if err != nil || asked.Response {
		return nil, of, "", false
	}
	header := dnsmessage.Header{ID: asked.ID, Response: true, OpCode: asked.OpCode, Authoritative: true,
		RecursionDesired: asked.RecursionDesired, RecursionAvailable: true}
	question, unread := p.Question()
	known := false
	if unread == nil {
		of, known = read(question.Name)
	}
	switch {
	case asked.OpCode != 0:
		header.RCode, kind = dnsmessage.RCodeNotImplemented, Failed
	case unread != nil:
		header.RCode, kind = dnsmessage.RCodeFormatError, Failed
	case !known || question.Class != dnsmessage.ClassINET:
		header.RCode, kind = dnsmessage.RCodeNameError, NXDomain
	case question.Type == dnsmessage.TypeA:
		kind = A
	case question.Type == dnsmessage.TypeAAAA:
		kind = AAAA
	default:
		kind = Empty
	}
	b := dnsmessage.NewBuilder(into[:0], header)
	if unread == nil {
		err = errors.Join(b.StartQuestions(), b.Question(question))
	}
	record := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: of.ttl}
	switch kind {
	case A:
		err = errors.Join(err, b.StartAnswers(), b.AResource(record, dnsmessage.AResource{A: ipv4}))
	case AAAA:
		err = errors.Join(err, b.StartAnswers(), b.AAAAResource(record, dnsmessage.AAAAResource{AAAA: ipv6}))
	}
	reply, unfinished := b.Finish()
	return reply, of, kind, err == nil && unfinished == nil
}
