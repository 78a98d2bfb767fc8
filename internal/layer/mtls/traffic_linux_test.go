package mtls

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/testbed"
)

// piece is the payload of one connection or request, in bytes.
const piece = 1 << 20

// traffic is one side of a transfer. A client sends pieces one after the other, each on its own connection or in its
// own request. The server serves until it is killed.
func traffic(what []string) error {
	protocol, address := protocol(what[1]), what[2]
	if what[0] == "serve" {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			return err
		}
		fmt.Println("ready")
		if protocol != tcp {
			server := http.Server{Protocols: versions(protocol), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, n)
			})}
			return server.Serve(l)
		}
		for {
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			go func() {
				defer conn.Close()
				n, _ := io.Copy(io.Discard, io.LimitReader(conn, piece))
				fmt.Fprint(conn, n)
			}()
		}
	}
	http.DefaultTransport.(*http.Transport).Protocols = versions(protocol)
	count, err := strconv.Atoi(what[3])
	if err != nil {
		return err
	}
	for range count {
		answer, err := sendPiece(protocol, address)
		if err != nil || string(answer) != strconv.Itoa(piece) {
			return fmt.Errorf("the server took %q bytes of %d: %w", answer, piece, err)
		}
	}
	return nil
}

// http2 is HTTP/2 without TLS, as used by gRPC in a mesh.
const http2 protocol = "http2"

// versions returns the HTTP versions of a protocol.
func versions(p protocol) *http.Protocols {
	v := new(http.Protocols)
	v.SetHTTP1(p != http2)
	v.SetUnencryptedHTTP2(p == http2)
	return v
}

func sendPiece(protocol protocol, address string) ([]byte, error) {
	body := strings.NewReader(strings.Repeat("x", piece))
	if protocol != tcp {
		r, err := http.Post("http://"+address, "text/plain", body)
		if err != nil {
			return nil, err
		}
		defer r.Body.Close()
		return io.ReadAll(r.Body)
	}
	conn, err := net.Dial("tcp4", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := io.Copy(conn, body); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}

// transfer moves pieces from the client pod to the server pod, and returns their total size.
func transfer(t *testing.T, site testbed.Site, path testbed.Path, protocol protocol, count int) layer.Did {
	t.Helper()
	network, _ := testbed.As[testbed.Network](site)
	port := network.Ports()[0]
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	start := func(where testbed.Place, out io.Writer, what ...any) testbed.Process {
		p, err := site.Start(context.Background(), where, testbed.Command{
			Args: []string{"/proc/self/exe"}, Env: []string{trafficVariable + "=" + strings.TrimSpace(fmt.Sprintln(what...))}, Stdout: out})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	server := start(testbed.ServerPod, w, "serve", protocol, fmt.Sprintf("0.0.0.0:%d", port))
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	client := start(testbed.ClientPod, nil, "send", protocol, netip.AddrPortFrom(network.Address(path), port), count)
	if _, err := client.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	return layer.Did{Sent: uint64(count) * piece}
}
