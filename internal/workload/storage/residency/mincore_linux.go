package residency

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// residentPages calls mincore(2), which golang.org/x/sys/unix does not have. Pages has one byte for each page
// of the mapping. The byte's lowest bit is set if the page is in memory.
func residentPages(mapped, pages []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
