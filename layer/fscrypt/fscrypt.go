// Package fscrypt is the layer that encrypts the files of a volume in the file system: ext4's
// encryption of directories (fscrypt), with a policy of version 2 and a key that is drawn for each
// set-up and kept nowhere.
//
//   - fscrypt: {contents: [AES-256-XTS, Adiantum]}
//
// Where the kernel has no inline encryption, and where the file system is not mounted with
// inlinecrypt, encrypted files have no direct I/O: the kernel takes O_DIRECT and goes through the page
// cache without a word (Documentation/filesystems/fscrypt.rst, "Direct I/O support"). The workload
// storage sees that, and such a trial is invalid, or named buffered-.
//
// Proof, once for each set-up: a marker that was written through the volume is not on the device in
// clear, which it is in an arm that does not encrypt. Before every trial: the volume's directory has
// the policy, read back from the kernel.
package fscrypt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/volumes"
	"tare/testbed"
)

const name = "fscrypt"

// Mode is how contents are encrypted, by the name of package fscrypt's tools.
type Mode string

// The modes.
const (
	AES256   Mode = "AES-256-XTS"
	AES128   Mode = "AES-128-CBC"
	Adiantum Mode = "Adiantum"
)

// Values lists the modes.
func (Mode) Values() []string { return []string{string(AES256), string(AES128), string(Adiantum)} }

// modes are the numbers of the kernel for the contents and for names (FSCRYPT_MODE_…), which go
// together, and the cipher of the contents in /proc/crypto.
var modes = map[Mode]struct {
	contents, names uint8
	cipher          string
}{
	AES256:   {1, 4, "xts(aes)"},
	AES128:   {5, 6, "essiv(cbc(aes),sha256)"},
	Adiantum: {9, 9, "adiantum(xchacha12,aes)"},
}

// Config is the parameters of the layer.
type Config struct {
	Contents factor.Levels[Mode] `yaml:"contents" json:"contents" doc:"how contents are encrypted; names are encrypted by the mode that goes with it"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "files of the volume encrypted by its file system (ext4, fscrypt)",
	New:     newLayer,
	Probe:   volumes.Probe(name, "", "", newLayer()),
}

func newLayer() layer.Layer { return &Config{Contents: factor.Of(AES256)} }

// Declare says that the layer is for volumes of this machine.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: volumes.Needs, Elsewhere: volumes.Elsewhere, OwnProves: true}
}

// Up asks for the part of the volume.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	mode, at := c.Contents.One(), ""
	put := func(_ context.Context, dir string) (string, error) {
		at = filepath.Join(dir, "encrypted")
		return at, stack.InVolume(func() error {
			if err := os.Mkdir(at, 0o777); err != nil {
				return err
			}
			return encrypt(at, mode)
		})
	}
	if err := stack.AddVolumePart(testbed.VolumePart{Name: name, Encrypts: true, Directory: put}); err != nil {
		return nil, err
	}
	return &layer.Active{
		Settle: func(context.Context) ([]layer.Check, error) {
			return []layer.Check{volumes.Hidden(name, stack), volumes.Driver(name, modes[mode].cipher)}, nil
		},
		Before: func(context.Context, testbed.Site) ([]layer.Check, error) {
			return policyCheck(stack, at, string(mode))
		},
	}, nil
}

// none is the policy of a directory that has none.
const none = "none"

// policyCheck reads the policy back.
func policyCheck(stack testbed.VolumeStack, dir, want string) ([]layer.Check, error) {
	c := layer.Check{Layer: name, Name: "encryption policy of the directory", Expected: want}
	err := stack.InVolume(func() (err error) {
		c.Observed, err = policy(dir)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: read the encryption policy: %w", dir, err)
	}
	c.OK = c.Observed == want
	return []layer.Check{c}, nil
}

// ProveOff shows that the volume has no policy, and that where nothing encrypts, the marker is on
// the device. An arm with another mode shows by its own proof which one that is.
func (c *Config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	checks, err := policyCheck(stack, stack.Volume(), none)
	return append(volumes.Clear(name, stack), checks...), err
}
