package mtls

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	markerHeader   = "X-Tare-Marker"
	identityHeader = "X-Forwarded-Client-Cert" // Envoy adds this header
)

const longestMarker = 4096 // the largest request or answer of a probe, in bytes

func serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(probeLimit))
			_ = answerProbe(conn)
		}()
	}
}

// answerProbe answers a probe: it reads a line or an HTTP request from the connection, and sends back a description of
// the connection.
func answerProbe(conn net.Conn) error {
	in := bufio.NewReader(io.LimitReader(conn, longestMarker))
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return err
	}
	h := probeAnswer{Peer: netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())}
	method, err := in.Peek(len("GET "))
	if err != nil {
		return err
	}
	if string(method) != "GET " {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		h.Marker = strings.TrimSuffix(line, "\n")
		return json.NewEncoder(conn).Encode(h)
	}
	request, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	h.Marker, h.Identity = request.Header.Get(markerHeader), request.Header.Get(identityHeader)
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	response := http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
	return response.Write(conn)
}

// send sends the marker and reads the answer. A marker that does not arrive is a result, and no error.
func (o sendRequest) send(ctx context.Context) sent {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var s sent
	if err := o.exchange(ctx, &s); err != nil {
		s.Refused = err.Error()
	}
	return s
}

func (o sendRequest) exchange(ctx context.Context, s *sent) error {
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(socket uintptr) {
			if o.Mark != 0 {
				err = unix.SetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_MARK, o.Mark)
			}
		}), err)
	}}
	if o.From.IsValid() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.From, 0))
	}
	socket, err := dialer.DialContext(ctx, "tcp4", o.To.String())
	if err != nil {
		return err
	}
	defer func() { _ = socket.Close() }()
	if s.Local, err = netip.ParseAddrPort(socket.LocalAddr().String()); err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	_ = socket.SetDeadline(deadline)
	conn := socket
	if o.TLS != nil {
		if conn, err = o.TLS.over(ctx, socket, s); err != nil {
			return err
		}
	}
	if err := o.write(conn); err != nil {
		return err
	}
	if err := o.read(conn, &s.Heard); err != nil {
		return err
	}
	if s.Heard.Marker != o.Marker {
		return errors.New("the answer belongs to another marker")
	}
	return nil
}

func (o sendRequest) write(conn net.Conn) error {
	if !o.HTTP {
		_, err := io.WriteString(conn, o.Marker+"\n")
		return err
	}
	request, err := http.NewRequest(http.MethodGet, "http://"+o.To.String()+"/", nil)
	if err != nil {
		return err
	}
	request.Header.Set(markerHeader, o.Marker)
	return request.Write(conn)
}

func (o sendRequest) read(conn net.Conn, h *probeAnswer) error {
	in := bufio.NewReader(io.LimitReader(conn, longestMarker))
	if !o.HTTP {
		return decode(in, h)
	}
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return decode(response.Body, h)
}

func decode(from io.Reader, h *probeAnswer) error {
	err := json.NewDecoder(from).Decode(h)
	var other *json.SyntaxError
	if errors.As(err, &other) {
		return errors.New("the answer does not come from the probe's server")
	}
	return err
}

// over starts TLS on a connection. The server's certificate must be from the authority. The proofs check the server's
// identity later.
func (o tlsClient) over(ctx context.Context, conn net.Conn, s *sent) (net.Conn, error) {
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM([]byte(o.Authority)) {
		return nil, errors.New("the authority has no certificate")
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, // a SPIFFE identity is no host name, so VerifyConnection checks the certificate
		VerifyConnection: func(c tls.ConnectionState) error {
			_, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: authority})
			return err
		},
	}
	if o.Identity != nil {
		pair, err := tls.X509KeyPair([]byte(o.Identity.Certificate), []byte(o.Identity.Key))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	over := tls.Client(conn, config)
	if err := over.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	state := over.ConnectionState()
	s.Version = strings.ReplaceAll(tls.VersionName(state.Version), "TLS 1", "TLSv1")
	s.Key = keyOf(state.PeerCertificates[0])
	for _, uri := range state.PeerCertificates[0].URIs {
		s.Identity = strings.TrimSpace(fmt.Sprint(s.Identity, " ", uri))
	}
	return over, nil
}
