package tree

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unpack reads an archive by the description of its format.
func unpack(t *testing.T, archive []byte) (entries []string) {
	t.Helper()
	for at := 0; at < len(archive); {
		header := archive[at : at+110]
		if string(header[:6]) != "070701" {
			t.Fatalf("at %d: magic %q", at, header[:6])
		}
		field := func(i int) int {
			n, err := strconv.ParseUint(string(header[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		size, name := field(6), field(11)
		content := (at + 110 + name + 3) / 4 * 4
		entries = append(entries, fmt.Sprintf("%s %o %s", archive[at+110:at+110+name-1], field(1), archive[content:content+size]))
		at = (content + size + 3) / 4 * 4
	}
	return entries
}

func TestWriteCPIO(t *testing.T) {
	var out bytes.Buffer
	if err := example().WriteCPIO(&out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bin 120777 usr/bin", "etc 40755 ", "etc/passwd 100644 root", "lib 120777 usr/lib", "lib64 120777 usr/lib64",
		"sbin 120777 usr/sbin", "tmp 41777 ", "usr 40755 ", "usr/bin 40755 ", "usr/bin/tool 100755 tool", "TRAILER!!! 0 ",
	}
	if diff := cmp.Diff(want, unpack(t, out.Bytes())); diff != "" {
		t.Error(diff)
	}
}

// TestCPIOReads has another program read the archive.
func TestCPIOReads(t *testing.T) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	if err := example().WriteCPIO(&out); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(busybox, "cpio", "-t")
	cmd.Stdin = &out
	list, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(list), "bin\netc\netc/passwd\nlib\nlib64\nsbin\ntmp\nusr\nusr/bin\nusr/bin/tool\n") {
		t.Errorf("%v: %s", err, list)
	}
}
