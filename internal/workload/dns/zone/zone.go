// Package zone is Tare's own DNS server, which counts queries. Each name of the server's zone holds the time
// to live of the name's addresses, and the label under which queries for the name count. One server can
// therefore serve all trials without a configuration for each trial.
//
//	host-17.ttl-5.t3.tare.test.   addresses for 5 seconds, counted as t3
//
// Queries for A get an IPv4 address and queries for AAAA an IPv6 address, both from the blocks for
// documentation. Other types have no record, and other names do not exist. The server listens on UDP and TCP,
// or on UDP and TLS.
package zone

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// origin is the zone, in the top-level domain for tests (RFC 2606).
const origin = "tare.test."

// Name returns the name of host i. The name's addresses live for ttl, in whole seconds. Queries for the name
// count under the label, which has letters and digits.
func Name(i int, ttl time.Duration, label string) string {
	return fmt.Sprintf("host-%d.ttl-%d.%s.%s", i, int64(ttl/time.Second), label, origin)
}

// name is a name of a host in the zone.
type name struct {
	text  string // the whole name in lower case
	ttl   uint32 // time to live in seconds
	label string
}

// parseName parses a name. It returns false if the name does not exist.
func parseName(n dnsmessage.Name) (name, bool) {
	text := strings.ToLower(n.String())
	rest, inZone := strings.CutSuffix(text, "."+origin)
	parts := strings.Split(rest, ".")
	if !inZone || len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return name{}, false
	}
	seconds, is := strings.CutPrefix(parts[1], "ttl-")
	ttl, err := strconv.ParseUint(seconds, 10, 31)
	return name{text, uint32(ttl), parts[2]}, is && err == nil
}

// Kind is the kind of a response.
type Kind string

const (
	a        Kind = "a"        // an IPv4 address
	aaaa     Kind = "aaaa"     // an IPv6 address
	empty    Kind = "empty"    // no record of that type
	nxDomain Kind = "nxdomain" // no such name
	failed   Kind = "error"    // the query cannot be read, or is no standard query
)

// Kinds lists the kinds.
var Kinds = []Kind{a, aaaa, empty, nxDomain, failed}

// The addresses of all hosts (RFC 5737, RFC 3849).
var (
	ipv4 = [4]byte{192, 0, 2, 1}
	ipv6 = [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}
)

// answer encodes the response to a query into a buffer. It returns false for bytes that are not a query.
func answer(query, buffer []byte) (reply []byte, asked name, kind Kind, ok bool) {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil, asked, "", false
	}
	header := dnsmessage.Header{ID: head.ID, Response: true, OpCode: head.OpCode, Authoritative: true,
		RecursionDesired: head.RecursionDesired, RecursionAvailable: true}
	question, unread := p.Question()
	known := false
	if unread == nil {
		asked, known = parseName(question.Name)
	}
	switch {
	case head.OpCode != 0:
		header.RCode, kind = dnsmessage.RCodeNotImplemented, failed
	case unread != nil:
		header.RCode, kind = dnsmessage.RCodeFormatError, failed
	case !known || question.Class != dnsmessage.ClassINET:
		header.RCode, kind = dnsmessage.RCodeNameError, nxDomain
	case question.Type == dnsmessage.TypeA:
		kind = a
	case question.Type == dnsmessage.TypeAAAA:
		kind = aaaa
	default:
		kind = empty
	}
	b := dnsmessage.NewBuilder(buffer[:0], header)
	if unread == nil {
		err = errors.Join(b.StartQuestions(), b.Question(question))
	}
	record := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: asked.ttl}
	switch kind {
	case a:
		err = errors.Join(err, b.StartAnswers(), b.AResource(record, dnsmessage.AResource{A: ipv4}))
	case aaaa:
		err = errors.Join(err, b.StartAnswers(), b.AAAAResource(record, dnsmessage.AAAAResource{AAAA: ipv6}))
	}
	reply, unfinished := b.Finish()
	return reply, asked, kind, err == nil && unfinished == nil
}
