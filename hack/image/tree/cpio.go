package tree

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
)

// The bits of a mode that say what a file is, as in stat(2).
const (
	isDirectory = 0o040000
	isRegular   = 0o100000
	isLink      = 0o120000
)

// WriteCPIO writes the tree as an archive from which the kernel of Linux makes its first file
// system: sorted, with parent directories, without times. The format is newc of the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.
func (t Tree) WriteCPIO(out io.Writer) error {
	full := t.withParents()
	for i, name := range slices.Sorted(maps.Keys(full)) { // parents come first
		f := full[name]
		mode, content := isRegular|uint32(f.Mode.Perm()), f.Content
		switch {
		case f.Mode.IsDir():
			mode, content = isDirectory|uint32(f.Mode.Perm()), nil
		case f.Mode&fs.ModeSymlink != 0:
			mode, content = isLink|0o777, []byte(f.Target)
		}
		if f.Mode&fs.ModeSticky != 0 {
			mode |= 0o1000
		}
		if uint64(len(content)) > math.MaxUint32 {
			return fmt.Errorf("%s is too large for the archive", name)
		}
		if err := entry(out, i+1, mode, strings.TrimPrefix(name, "/"), content); err != nil {
			return err
		}
	}
	return entry(out, 0, 0, "TRAILER!!!", nil)
}

// entry writes one file. What follows a header and what follows a content begins at a multiple of four.
func entry(out io.Writer, inode int, mode uint32, name string, content []byte) error {
	header := "070701"
	for _, field := range []uint32{uint32(inode), mode, 0, 0, 1, 0, uint32(len(content)), 0, 0, 0, 0, uint32(len(name) + 1), 0} {
		header += fmt.Sprintf("%08X", field)
	}
	header += name + "\x00"
	for _, part := range [][]byte{[]byte(header), content} {
		if _, err := out.Write(part); err != nil {
			return err
		}
		if _, err := out.Write(make([]byte, (4-len(part)%4)%4)); err != nil {
			return err
		}
	}
	return nil
}
