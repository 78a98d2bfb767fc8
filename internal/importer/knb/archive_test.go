package knb

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/importertest"
)

// archive packs entries. The content of each entry is its name, if it has none.
func archive(t testing.TB, entries ...tar.Header) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, h := range entries {
		content := contents[h.Name]
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg && h.Size == 0 {
			h.Size = int64(len(content))
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if zeros := h.Size - int64(len(content)); zeros > 0 {
			if _, err := w.Write(make([]byte, zeros)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

var contents = map[string]string{
	"./env": "VERSION=\"1.5.0\"\nIDLE_POD_NAME=\"idle\"\nCLIENT_TCP_P2P_POD_NAME=\"tcp\"\n$(touch /tmp/executed)\n",
	"./idle-client.avg": "cpu-user cpu-nice cpu-system cpu-iowait cpu-steal memory-used records-number\n" +
		"1.00 0.25 2.00 0.50 0.25 100 3\n",
	"./tcp.bw": "943\n",
}

func entry(name string) tar.Header { return tar.Header{Name: name} }

func TestArchive(t *testing.T) {
	for _, prefix := range []string{"./", "", "tmp.aB3/"} {
		entries := []tar.Header{{Name: prefix + "._env"}, {Name: prefix + "notes.txt"}}
		for _, name := range []string{"./tcp.bw", "./idle-client.avg", "./env"} {
			contents[prefix+name[2:]] = contents[name]
			entries = append(entries, entry(prefix+name[2:]))
		}
		trials, err := importertest.Read(Format, "x.knbdata", archive(t, entries...))
		if err != nil || len(trials) != 2 {
			t.Fatalf("prefix %q: %d trials (%v)", prefix, len(trials), err)
		}
		var got []string
		for _, trial := range trials {
			for _, v := range trial.Values {
				got = append(got, fmt.Sprintf("%s %s %g", trial.Cell, v.Metric.Name, v.Value))
			}
		}
		if want := "idle node-cpu-client 4, idle node-memory-client 1.048576e+08, pod2pod-tcp tcp-bandwidth 9.43e+08"; strings.Join(got, ", ") != want {
			t.Errorf("prefix %q: %s, want %s", prefix, strings.Join(got, ", "), want)
		}
	}
	if _, err := os.Stat("/tmp/executed"); err == nil {
		t.Error("the file env was executed")
	}
}

func TestHostileArchives(t *testing.T) {
	many := []tar.Header{entry("./env")}
	for i := range mostEntries {
		many = append(many, entry(fmt.Sprintf("./%d", i)))
	}
	whole := importertest.Fixture(t, "report.knbdata")
	bent := []byte(whole)
	bent[len(bent)-6] ^= 1 // a bit of the checksum
	for _, c := range []struct{ name, archive, want string }{
		{"up", archive(t, entry("./env"), entry("../../etc/cron.d/x")), `the archive: entry "../../etc/cron.d/x" leads out of the archive`},
		{"up within", archive(t, entry("a/../../env")), `the archive: entry "a/../../env" leads out of the archive`},
		{"absolute", archive(t, entry("/etc/passwd")), `the archive: entry "/etc/passwd" leads out of the archive`},
		{"backslashes", archive(t, entry(`..\..\env`)), `the archive: entry "..\\..\\env" leads out of the archive`},
		{"symbolic link", archive(t, tar.Header{Name: "./env", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), `the archive: entry "./env" is neither a file nor a directory`},
		{"hard link", archive(t, tar.Header{Name: "./tcp.bw", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), `the archive: entry "./tcp.bw" is neither a file nor a directory`},
		{"device", archive(t, tar.Header{Name: "./cpu", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}), `the archive: entry "./cpu" is neither a file nor a directory`},
		{"named pipe", archive(t, tar.Header{Name: "./cpu", Typeflag: tar.TypeFifo}), `the archive: entry "./cpu" is neither a file nor a directory`},
		{"twice", archive(t, entry("./env"), entry("./env")), `the archive: there are two entries "env"`},
		{"twice in directories", archive(t, entry("a/env"), entry("b/env")), `the archive: there are two entries "env"`},
		{"many entries", archive(t, many...), "the archive: it has more than 1000 entries, the most that are read"},
		{"a large entry", archive(t, tar.Header{Name: "./tcp.log", Size: mostFile + 1}), `the archive: entry "tcp.log" is larger than 8 MB, the most that is read`},
		{"a bomb beside", archive(t, tar.Header{Name: "./x", Size: importer.Limit}), "the archive: what it unpacks to is larger than 64 MB, the most that is read"},
		{"truncated", whole[:len(whole)-200], "the archive has no end: the file is truncated"},
		{"a wrong checksum", string(bent), "the archive: gzip: invalid checksum"},
		{"only a magic number", "\x1f\x8b", "the archive has no end: the file is truncated"},
		{"no tar", gzipped(t, strings.Repeat("x", 2000)), "the archive: archive/tar: invalid tar header"},
		{"nothing", archive(t), "the archive has no file env: it is not one that knb wrote with -o data"},
		{"no env", archive(t, entry("./tcp.bw")), "the archive has no file env: it is not one that knb wrote with -o data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trials, err := importertest.Read(Format, "x.knbdata", c.archive)
			if err == nil || err.Error() != c.want {
				t.Errorf("%d trials and the error %v, want %s", len(trials), err, c.want)
			}
		})
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// A sparse file is as long as its header says, but takes no space in the archive.
func TestSparse(t *testing.T) {
	header := make([]byte, 512) // a header of GNU tar before PAX
	for at, text := range map[int]string{
		0: "./tcp.log", 100: "0000644", 108: "0000000", 116: "0000000", 124: "00000000001", 136: "00000000000", 148: "        ", 156: "S",
		257: "ustar  ",
		386: "00000000000", 398: "00000000001", // one byte at offset 0
		483: "77777777777", // the length of the file, 8 GiB
	} {
		copy(header[at:], text)
	}
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	text := string(header) + "x" + strings.Repeat("\x00", 511+1024)
	_, err := importertest.Read(Format, "x.knbdata", gzipped(t, text))
	if want := `the archive: entry "tcp.log" is larger than 8 MB, the most that is read`; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
