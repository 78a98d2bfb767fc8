package helperrpc

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// ownUser reports whether the process at a socket's other end has the user of this process.
func ownUser(conn net.Conn) bool {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	own := false
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		own = err == nil && int(peer.Uid) == os.Geteuid()
	})
	return err == nil && own
}
