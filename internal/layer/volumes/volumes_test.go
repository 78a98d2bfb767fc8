package volumes

import (
	"os"
	"path/filepath"
	"testing"

	"tare/internal/run/machine"
	"tare/internal/run/machine/proc"
)

func TestDriverOf(t *testing.T) {
	const text = `name         : xts(aes)
driver       : xts(ecb(aes-fixed-time))
module       : kernel
priority     : 101

name         : xts(aes)
driver       : xts-aes-aesni
module       : aesni_intel
priority     : 401

name         : essiv(cbc(aes),sha256)
driver       : essiv(cbc(ecb(aes-fixed-time)),sha256-lib)
priority     : 101
`
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc", "crypto"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	drivers := machine.CipherDrivers(proc.Below(root))
	for cipher, want := range map[string]string{"xts(aes)": "xts-aes-aesni", "essiv(cbc(aes),sha256)": "essiv(cbc(ecb(aes-fixed-time)),sha256-lib)", "adiantum(xchacha12,aes)": ""} {
		if got := drivers[cipher]; got != want {
			t.Errorf("%s: %q, want %q", cipher, got, want)
		}
	}
	for driver, want := range map[string]bool{"xts-aes-aesni": true, "xts-aes-vaes-avx512": true, "xts-aes-ce": true, "xts(ecb(aes-fixed-time))": false, "adiantum(xchacha12-generic,aes-generic)": false} {
		if got := accelerated(driver); got != want {
			t.Errorf("%s: %v", driver, got)
		}
	}
}

func TestMountOf(t *testing.T) {
	const text = `21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 21 7:0 / /tmp/v/volume rw,relatime - ext4 /dev/loop0 rw
41 40 0:50 / /tmp/v/volume/data/plain rw,nosuid - fuse.gocryptfs /tmp/v/volume/data/cipher rw
42 21 0:51 / /tmp/v/volume/data rw - tmpfs none rw
broken
`
	for dir, want := range map[string][2]string{
		"/tmp/v/volume":              {"ext4", "/tmp/v/volume"},
		"/tmp/v/volume/data/plain":   {"fuse.gocryptfs", "/tmp/v/volume/data/plain"},
		"/tmp/v/volume/data/plain/x": {"fuse.gocryptfs", "/tmp/v/volume/data/plain"},
		"/tmp/v/volume/data/plainer": {"tmpfs", "/tmp/v/volume/data"},
		"/home":                      {"ext4", ""},
	} {
		if kind, at := mountOf(text, dir); kind != want[0] || at != want[1] {
			t.Errorf("%s: %s at %s, want %v", dir, kind, at, want)
		}
	}
}
