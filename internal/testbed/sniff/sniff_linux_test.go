package sniff

import (
	"net"
	"strings"
	"testing"
)

// Frames on the loopback interface are not counted. The tests of the local testbed's wire show that other frames are
// counted.
func TestLoopback(t *testing.T) {
	const pattern = "a pattern that nobody else sends"
	w, err := Open([]byte(pattern))
	if err != nil {
		t.Skip(err)
	}
	l, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.WriteTo([]byte(pattern), l.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.ReadFrom(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.End(); n != 0 || err != nil {
		t.Errorf("%d frames, %v", n, err)
	}
	if _, err := Open(nil); err == nil || !strings.Contains(err.Error(), "no pattern given") {
		t.Error(err)
	}
}
