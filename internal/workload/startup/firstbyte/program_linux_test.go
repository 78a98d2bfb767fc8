package firstbyte_test

import (
	"bytes"
	"debug/elf"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"tare/internal/workload/startup/firstbyte"
)

// The program is a valid static executable for both architectures. Its code is inside the loaded segment and ends in
// the printed byte.
func TestProgramIsELF(t *testing.T) {
	for architecture, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		text, err := firstbyte.Program(architecture)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", architecture, err)
			continue
		}
		load := f.Progs[0]
		if f.Machine != machine || f.Type != elf.ET_EXEC || len(f.Progs) != 1 || load.Type != elf.PT_LOAD || load.Flags != elf.PF_R|elf.PF_X {
			t.Errorf("%s: %+v %+v", architecture, f.FileHeader, load)
		}
		if load.Filesz != uint64(len(text)) || f.Entry != load.Vaddr+120 || text[len(text)-1] != firstbyte.Byte {
			t.Errorf("%s: %d bytes, entry %#x of %+v", architecture, len(text), f.Entry, load)
		}
	}
	if _, err := firstbyte.Program("riscv64"); err == nil {
		t.Error("a program for riscv64")
	}
}

// The program prints its byte and ends; with an argument it stays until it is killed.
func TestProgramRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is a program of Linux")
	}
	path := filepath.Join(t.TempDir(), "first-byte")
	for range 2 { // the second call replaces the file
		if err := firstbyte.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, path)
}

// The program for the other architecture runs in an emulator if there is one.
func TestProgramElsewhere(t *testing.T) {
	emulator, err := exec.LookPath("qemu-aarch64")
	if runtime.GOARCH != "amd64" || err != nil {
		t.Skip("needs qemu-aarch64 (apt-get install qemu-user) on amd64")
	}
	text, err := firstbyte.Program("arm64")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "first-byte")
	write(t, path, text)
	runs(t, emulator, path)
}

func runs(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil || string(out) != string(firstbyte.Byte) {
		t.Errorf("%v: %q, %v", args, out, err)
	}
	stays := exec.Command(args[0], append(args[1:], "stay")...)
	said, err := stays.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stays.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(said, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stays.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("it ended by itself: %v", err)
	default:
	}
	if err := stays.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended by %v", err)
	}
}
