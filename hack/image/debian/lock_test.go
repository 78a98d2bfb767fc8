package debian

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var digest = strings.Repeat("0a", 32)

func TestLock(t *testing.T) {
	packages := []Package{
		{Arch: "amd64", Name: "libc6", Version: "2.36-9+deb12u14", SHA256: digest},
		{Arch: "amd64", Name: "busybox-static", Version: "1:1.35.0-4+deb12u1+b1", SHA256: digest},
		{Arch: "arm64", Name: "libboost-thread1.74.0", Version: "1.74.0+ds1-21~x", SHA256: digest},
	}
	var out bytes.Buffer
	if err := WriteLock(&out, "Packages.\nTwo lines.\n", packages); err != nil {
		t.Fatal(err)
	}
	want := "# Packages.\n# Two lines.\n" +
		"amd64 busybox-static 1:1.35.0-4+deb12u1+b1 " + digest + "\n" +
		"amd64 libc6 2.36-9+deb12u14 " + digest + "\n" +
		"arm64 libboost-thread1.74.0 1.74.0+ds1-21~x " + digest + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	got, err := ReadLock(&out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Package{packages[1], packages[0], packages[2]}, got); diff != "" {
		t.Error(diff)
	}
	if got := For(got, "arm64"); len(got) != 1 || got[0] != packages[2] {
		t.Errorf("for arm64: %v", got)
	}
}

func TestReadLockRefuses(t *testing.T) {
	for lock, want := range map[string]string{
		"amd64 libc6 2.36":                       "line 1: 3 fields, want architecture, name, version and SHA-256",
		"# x\n\namd64 -o 1 " + digest:            `line 3: "-o" is not the name of a package`,
		"amd64 ../x 1 " + digest:                 `line 1: "../x" is not the name of a package`,
		"amd64 libc6 --help " + digest:           `line 1: "--help" is not the version of a package`,
		"amd64 libc6 1 abc":                      `line 1: "abc" is not the SHA-256 of a package`,
		"amd64/ libc6 1 " + digest:               `line 1: "amd64/" is not the architecture of a package`,
		strings.Repeat("a xx 1 "+digest+"\n", 2): "line 2: xx for a is there twice",
	} {
		if _, err := ReadLock(strings.NewReader(lock)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", lock, err, want)
		}
	}
}

func FuzzReadLock(f *testing.F) {
	f.Add("# x\namd64 libc6 2.36-9 " + digest + "\n")
	f.Add("amd64 libc6")
	f.Fuzz(func(t *testing.T, text string) {
		packages, err := ReadLock(strings.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := WriteLock(&out, "", packages); err != nil {
			t.Fatal(err)
		}
		again, err := ReadLock(&out)
		if err != nil || len(again) != len(packages) {
			t.Errorf("%q reads as %v, and that as %v, %v", text, packages, again, err)
		}
	})
}
