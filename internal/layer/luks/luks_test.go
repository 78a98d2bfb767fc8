package luks

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/testbed"
)

// TestRefused checks the error on a kernel without the device mapper.
func TestRefused(t *testing.T) {
	if _, err := os.Stat(mapperControl); err == nil {
		t.Skip("this machine has a device mapper")
	}
	if _, err := newLayer().Up(t.Context(), nil); err == nil || !strings.HasPrefix(err.Error(), "this kernel has no device mapper, and so no dm-crypt: ") {
		t.Error(err)
	}
	found := probe(t.Context())
	if len(found) != 1 || found[0].Status == testbed.Works || found[0].Hint == "" {
		t.Errorf("%+v", found)
	}
}

func TestArguments(t *testing.T) {
	c := &config{Cipher: factor.Of("aes-xts-plain64"), KeySize: 512, SectorSize: factor.Of(512), Integrity: factor.Of(hmac)}
	want := strings.Fields("cryptsetup luksFormat --batch-mode --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file - --cipher aes-xts-plain64 --key-size 512 --sector-size 512 --integrity hmac-sha256")
	if diff := cmp.Diff(want, c.format()); diff != "" {
		t.Error(diff)
	}
	want = strings.Fields("cryptsetup open --type luks2 --key-file - --perf-no_read_workqueue --perf-no_write_workqueue")
	if diff := cmp.Diff(want, c.open()); diff != "" {
		t.Error(diff)
	}
	c.Workqueues, c.Integrity = true, factor.Of(noIntegrity)
	if args := append(c.open(), c.format()...); slices.Contains(args, "--integrity") || slices.Contains(args, "--perf-no_read_workqueue") {
		t.Errorf("%v", args)
	}
	for cipher, want := range map[string]string{"aes-xts-plain64": "xts(aes)", "xchacha12,aes-adiantum-plain64": "adiantum(xchacha12,aes)", "x": "x"} {
		if got := cryptoName(cipher); got != want {
			t.Errorf("%s: %s, want %s", cipher, got, want)
		}
	}
}

// TestStatus parses output of cryptsetup 2.6, from its manual.
func TestStatus(t *testing.T) {
	const text = `/dev/mapper/x is active and is in use.
  type:    LUKS2
  cipher:  aes-xts-plain64
  keysize: 512 bits
  key location: keyring
  device:  /dev/loop0
  sector size:  4096
  offset:  32768 sectors
  mode:    read/write
`
	c := newLayer().(*config)
	if k := c.status(text); !k.OK {
		t.Errorf("%+v", k)
	}
	c.SectorSize = factor.Of(512)
	if k := c.status(text); k.OK || k.Observed != "aes-xts-plain64 in sectors of 4096" {
		t.Errorf("%+v", k)
	}
	if k := c.status("/dev/mapper/x is inactive.\n"); k.OK {
		t.Errorf("%+v", k)
	}
}

func TestValidate(t *testing.T) {
	c := newLayer().(*config)
	if errs := c.validate(); errs != nil {
		t.Errorf("the defaults are wrong: %v", errs)
	}
	c.KeySize, c.SectorSize = 192, factor.Of(4096, 8192)
	want := []experiment.FieldError{{Field: "keySize", Message: "192 is not one of 128, 256 and 512"}, {Field: "sectorSize[1]", Message: "8192 is not one of 512, 1024, 2048 and 4096"}}
	if diff := cmp.Diff(want, c.validate()); diff != "" {
		t.Error(diff)
	}
}
