// Package query sends DNS queries in an open loop and measures response times. Every query has an intended time, from
// which its latency counts. A query ends exactly once: as OK, or as an error of one kind.
//
// Queries use several sockets in turn, over UDP, TCP or TLS. As in real resolvers, no query waits for the response to
// an earlier one. One goroutine paces and writes queries, and one goroutine per socket reads. A response belongs to the
// query with its id, and must repeat this query's name.
package query

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"tare/internal/layer/dnstransport"
	"tare/internal/workload/http/load"
)

// truncated and foreign are kinds of errors that only DNS has. Error codes are further kinds: the code's name, such as
// "servfail", or its number, such as "rcode-11".
const (
	truncated load.Kind = "truncated" // the response did not fit into a datagram
	foreign   load.Kind = "foreign"   // the question in the response is not the query's question
)

var codes = map[dnsmessage.RCode]load.Kind{
	dnsmessage.RCodeFormatError: "formerr", dnsmessage.RCodeServerFailure: "servfail", dnsmessage.RCodeNameError: "nxdomain",
	dnsmessage.RCodeNotImplemented: "notimp", dnsmessage.RCodeRefused: "refused",
}

// Config is the configuration of a session: the server, and the names to ask for.
type Config struct {
	Address    string                 `json:"address"` // "HOST:PORT"
	Transport  dnstransport.Transport `json:"transport"`
	CA         string                 `json:"ca,omitempty"`         // certificates to trust, in PEM; "": the system's certificates
	ServerName string                 `json:"serverName,omitempty"` // name in the server's certificate; "": the host
	Sockets    int                    `json:"sockets"`              // number of sockets or connections
	Names      []string               `json:"names"`                // names that queries ask for in turn
	Families   int                    `json:"families"`             // 1: queries for IPv4; 2: queries for IPv4 and for IPv6 in turn
	Timeout    time.Duration          `json:"timeout"`              // limit for a response, from the intended time
}

// CheckName returns an error unless the name is valid.
func CheckName(name string) error {
	_, err := question(name, dnsmessage.TypeA)
	return err
}

func question(name string, record dnsmessage.Type) ([]byte, error) {
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	n, err := dnsmessage.NewName(name)
	if err == nil {
		m := dnsmessage.Message{Header: dnsmessage.Header{RecursionDesired: true}, Questions: []dnsmessage.Question{{Name: n, Type: record, Class: dnsmessage.ClassINET}}}
		var text []byte
		if text, err = m.Pack(); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("%.80q is not a name of DNS: %w", name, err)
}

func (c Config) questions() ([][]byte, error) {
	var list [][]byte
	for _, name := range c.Names {
		for _, record := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA}[:c.Families] {
			text, err := question(name, record)
			if err != nil {
				return nil, err
			}
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no name is asked for")
	}
	return list, nil
}

func (c Config) clientTLS() (*tls.Config, error) {
	if c.Transport != dnstransport.TLS {
		return nil, nil
	}
	conf, err := load.Trust(c.CA)
	if err != nil {
		return nil, err
	}
	if conf.ServerName = c.ServerName; conf.ServerName == "" {
		host, _, err := net.SplitHostPort(c.Address)
		if err != nil {
			return nil, err
		}
		conf.ServerName = host
	}
	return conf, nil
}

// outcome returns what is wrong with a response: the kind of the error, and a text. For a good response, the kind is
// "".
func outcome(asked, answer []byte) (load.Kind, string) {
	var p, q dnsmessage.Parser
	header, err := p.Start(answer)
	if err != nil {
		return load.Malformed, err.Error()
	}
	if _, err := q.Start(asked); err != nil {
		return load.Malformed, err.Error()
	}
	got, err := p.Question()
	want, unasked := q.Question()
	switch {
	case !header.Response:
		return load.Malformed, "a query in place of an answer"
	case header.RCode != dnsmessage.RCodeSuccess:
		kind, known := codes[header.RCode]
		if !known {
			kind = load.Kind(fmt.Sprintf("rcode-%d", header.RCode))
		}
		return kind, "the server answers with code " + header.RCode.String()
	case header.Truncated:
		return truncated, "the answer did not fit into a datagram"
	case err != nil || unasked != nil || got.Type != want.Type || !strings.EqualFold(got.Name.String(), want.Name.String()):
		return foreign, "the answer is to another question"
	}
	return "", ""
}
