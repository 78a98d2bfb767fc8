package firstbyte

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
)

// Byte is the byte that the program prints.
const Byte = '.'

// The program is assembled here instead of being compiled. It has a few hundred bytes, needs no library,
// dynamic loader or runtime, and makes two system calls. The program itself takes almost no time, so that
// nearly the whole time of a start is the sandbox's time:
//
//	write(1, ".", 1)
//	argc > 1: wait for a signal, for ever
//	else: exit_group(0)

// amd64 is the program's code for x86-64. The printed byte follows the code.
var amd64 = []byte{
	0xb8, 1, 0, 0, 0, // mov eax, 1 (write)
	0x89, 0xc7, // mov edi, eax
	0xbe, 0xa0, 0x00, 0x40, 0x00, // mov esi, base + headers + 40
	0x89, 0xc2, // mov edx, eax
	0x0f, 0x05, // syscall
	0x83, 0x3c, 0x24, 0x01, // cmp dword [rsp], 1 (argc)
	0x77, 0x09, // ja idle
	0x31, 0xff, // xor edi, edi
	0xb8, 231, 0, 0, 0, // mov eax, 231 (exit_group)
	0x0f, 0x05, // syscall
	0xb8, 34, 0, 0, 0, // idle: mov eax, 34 (pause)
	0x0f, 0x05, // syscall
	0xeb, 0xf7, // jmp idle
}

// arm64 is the program's code for AArch64.
var arm64 = []uint32{
	0xd2800808, // mov x8, #64 (write)
	0xd2800020, // mov x0, #1
	0x10000201, // adr x1, 64 bytes ahead
	0xd2800022, // mov x2, #1
	0xd4000001, // svc #0
	0xf94003e9, // ldr x9, [sp] (argc)
	0xf100053f, // cmp x9, #1
	0x54000088, // b.hi idle
	0xd2800000, // mov x0, #0
	0xd2800bc8, // mov x8, #94 (exit_group)
	0xd4000001, // svc #0
	0xd2800000, // idle: mov x0, #0
	0xd2800001, // mov x1, #0
	0xd2800002, // mov x2, #0
	0xd2800003, // mov x3, #0
	0xd2800928, // mov x8, #73 (ppoll of nothing, without end)
	0xd4000001, // svc #0
	0x17fffffa, // b idle
}

// Load address of the executable, and the sizes of its ELF header and program header.
const (
	base    = 0x400000
	headers = 64 + 56
)

// machines holds the code and ELF machine number of each architecture.
var machines = map[string]struct {
	number uint16
	code   func() []byte
}{
	"amd64": {62, func() []byte { return amd64 }},
	"arm64": {183, func() []byte {
		var code []byte
		for _, word := range arm64 {
			code = binary.LittleEndian.AppendUint32(code, word)
		}
		return code
	}},
}

// Program returns a static ELF executable of Linux for an architecture, named as in GOARCH. The executable prints
// Byte and ends. With any argument it runs until it is killed.
func Program(architecture string) ([]byte, error) {
	m, ok := machines[architecture]
	if !ok {
		return nil, fmt.Errorf("Tare has no program that prints a byte for %s: give the workload a program in run", architecture)
	}
	code := append(m.code(), Byte)
	le := binary.LittleEndian
	file := append([]byte("\x7fELF"), 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0) // 64 bits, little-endian, version 1
	file = le.AppendUint16(file, 2)                                       // ET_EXEC
	file = le.AppendUint16(file, m.number)
	file = le.AppendUint32(file, 1)
	file = le.AppendUint64(file, base+headers) // entry
	file = le.AppendUint64(file, 64)           // program headers
	file = le.AppendUint64(file, 0)            // no section headers
	file = le.AppendUint32(file, 0)
	for _, n := range []uint16{64, 56, 1, 64, 0, 0} { // sizes and numbers of the headers
		file = le.AppendUint16(file, n)
	}
	size := uint64(headers + len(code))
	file = le.AppendUint32(file, 1) // PT_LOAD
	file = le.AppendUint32(file, 5) // read, execute
	for _, n := range []uint64{0, base, base, size, size, 0x10000} {
		file = le.AppendUint64(file, n)
	}
	return append(file, code...), nil
}

// Write writes the program for this architecture to a file that every user may execute. It replaces an existing file.
func Write(path string) error {
	text, err := Program(runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o755); err != nil {
		return fmt.Errorf("the program that prints a byte: %w", err)
	}
	if err := os.Chmod(path+".new", 0o755); err != nil { // the umask may have removed permissions
		return fmt.Errorf("the program that prints a byte: %w", err)
	}
	return os.Rename(path+".new", path)
}
