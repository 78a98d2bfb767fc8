package zone

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// query encodes a question.
func query(t testing.TB, name string, of dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 4711, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: of, Class: dnsmessage.ClassINET}}}
	text, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// opened parses a response.
func opened(t testing.TB, reply []byte) dnsmessage.Message {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(reply); err != nil {
		t.Fatalf("%v: % x", err, reply)
	}
	return m
}

func TestAnswers(t *testing.T) {
	host := Name(17, 5*time.Second, "t3")
	if host != "host-17.ttl-5.t3.tare.test." {
		t.Errorf("name %s", host)
	}
	for _, c := range []struct {
		name string
		of   dnsmessage.Type
		kind Kind
		code dnsmessage.RCode
		ttl  uint32
	}{
		{host, dnsmessage.TypeA, a, dnsmessage.RCodeSuccess, 5},
		{strings.ToUpper(host), dnsmessage.TypeA, a, dnsmessage.RCodeSuccess, 5},
		{host, dnsmessage.TypeAAAA, aaaa, dnsmessage.RCodeSuccess, 5},
		{host, dnsmessage.TypeTXT, empty, dnsmessage.RCodeSuccess, 0},
		{"tare.test.", dnsmessage.TypeA, nxDomain, dnsmessage.RCodeNameError, 0},
		{"host-1.ttl-x.t3.tare.test.", dnsmessage.TypeA, nxDomain, dnsmessage.RCodeNameError, 0},
		{"host-1.5.t3.tare.test.", dnsmessage.TypeA, nxDomain, dnsmessage.RCodeNameError, 0},
		{"host-1.ttl-99999999999.t3.tare.test.", dnsmessage.TypeA, nxDomain, dnsmessage.RCodeNameError, 0},
		{host + "example.", dnsmessage.TypeA, nxDomain, dnsmessage.RCodeNameError, 0},
		{".", dnsmessage.TypeA, nxDomain, dnsmessage.RCodeNameError, 0},
	} {
		reply, _, kind, ok := answer(query(t, c.name, c.of), nil)
		m := opened(t, reply)
		if !ok || kind != c.kind || m.RCode != c.code || m.ID != 4711 || !m.Response || len(m.Questions) != 1 || m.Questions[0].Name.String() != c.name {
			t.Errorf("%s %s: %s, %+v", c.name, c.of, kind, m)
			continue
		}
		if has := c.kind == a || c.kind == aaaa; len(m.Answers) > 0 != has || has && (m.Answers[0].Header.TTL != c.ttl || m.Answers[0].Header.Type != c.of) {
			t.Errorf("%s %s: answers %+v", c.name, c.of, m.Answers)
		}
	}
	if _, _, _, ok := answer([]byte{1, 2, 3}, nil); ok {
		t.Error("three bytes are answered")
	}
	if reply, _, _, _ := answer(query(t, host, dnsmessage.TypeA), nil); reply != nil {
		if _, _, _, ok := answer(reply, nil); ok {
			t.Error("an answer is answered")
		}
	}
	update := query(t, host, dnsmessage.TypeA)
	update[2] |= 5 << 3 // the operation code
	if reply, _, kind, ok := answer(update, nil); !ok || kind != failed || opened(t, reply).RCode != dnsmessage.RCodeNotImplemented {
		t.Errorf("an update: %s", kind)
	}
	if reply, _, kind, ok := answer(query(t, host, dnsmessage.TypeA)[:20], nil); !ok || kind != failed || opened(t, reply).RCode != dnsmessage.RCodeFormatError {
		t.Errorf("half a query: %s", kind)
	}
}

// serve starts a server.
func serve(t *testing.T) *Server {
	t.Helper()
	s, err := Listen(context.Background(), Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Queries over UDP and TCP count under their label. Queries without a label count beside each label.
func TestServes(t *testing.T) {
	s := serve(t)
	ask := func(network string, queries ...[]byte) {
		t.Helper()
		conn, err := net.Dial(network, s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		for _, q := range queries {
			if network == "tcp" {
				q = append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
			}
			if _, err := conn.Write(q); err != nil {
				t.Fatal(err)
			}
		}
		for range queries {
			reply := make([]byte, 512)
			if network == "tcp" {
				var length [2]byte
				if _, err := io.ReadFull(conn, length[:]); err != nil {
					t.Fatal(err)
				}
				reply = reply[:binary.BigEndian.Uint16(length[:])]
				_, err = io.ReadFull(conn, reply)
			} else {
				var n int
				n, err = conn.Read(reply)
				reply = reply[:n]
			}
			if err != nil {
				t.Fatal(err)
			}
			opened(t, reply)
		}
	}
	before := s.Counts("t1")
	ask("udp", query(t, Name(1, time.Second, "t1"), dnsmessage.TypeA), query(t, Name(1, time.Second, "t1"), dnsmessage.TypeAAAA))
	ask("tcp", query(t, Name(2, time.Second, "t1"), dnsmessage.TypeA), query(t, Name(1, time.Second, "t2"), dnsmessage.TypeA), query(t, "elsewhere.", dnsmessage.TypeA))
	c := s.Counts("t1")
	if c.Queries != 3 || c.Names != 2 || c.Answers[a] != 2 || c.Answers[aaaa] != 1 || c.Answers[nxDomain] != 1 || c.At <= before.At || before.Queries != 0 {
		t.Errorf("%+v after %+v", c, before)
	}
	if c := s.Counts("t2"); c.Queries != 1 || c.Names != 1 {
		t.Errorf("%+v", c)
	}
}

// A server ends with its connections open.
func TestCloses(t *testing.T) {
	s, err := Listen(context.Background(), Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Listen(context.Background(), Config{Listen: "127.0.0.1:0", Cert: "none", Key: "none"}); err == nil {
		t.Error("a certificate that is none is taken")
	}
}

// Any bytes get a valid response with the same id, or none.
func FuzzAnswer(f *testing.F) {
	f.Add(query(f, Name(1, time.Second, "t"), dnsmessage.TypeA))
	f.Add(query(f, "elsewhere.", dnsmessage.TypeAAAA)[:17])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		reply, _, kind, ok := answer(text, nil)
		if !ok {
			return
		}
		m := opened(t, reply)
		if !m.Response || !bytes.Equal(reply[:2], text[:2]) || kind == "" {
			t.Errorf("%q is answered by %+v", text, m)
		}
	})
}
