package process

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// If a container runtime refuses clone3, as default seccomp profiles do, cgroups cannot be used.
func TestNoClone3(t *testing.T) {
	usable, err := OpenScopes()
	if err != nil {
		t.Skip("no cgroups here:", err)
	}
	usable.Close()
	runtime.LockOSThread() // for good: the thread ends with the test, and its filter with it
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_CLONE3},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x50000 | uint32(unix.ENOSYS)}, // SECCOMP_RET_ERRNO
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000},                    // SECCOMP_RET_ALLOW
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		t.Skip("no filter can be set:", err)
	}
	if s, err := OpenScopes(); err == nil || !strings.Contains(err.Error(), "clone3") {
		t.Errorf("cgroups are taken for usable: %v, %v", s, err)
	}
}
