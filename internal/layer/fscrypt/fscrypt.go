// Package fscrypt is the layer with which the file system encrypts the files of a volume: ext4's encryption of
// directories (fscrypt), with a policy of version 2. Each set-up has a new random key, which is not stored.
//
//   - fscrypt: {contents: [AES-256-XTS, Adiantum]}
//
// Encrypted files have direct I/O only with inline encryption in the kernel and the mount option inlinecrypt. Otherwise
// the kernel accepts O_DIRECT and silently uses the page cache (Documentation/filesystems/fscrypt.rst, "Direct I/O
// support"). The workload storage detects this: the trial is invalid, or the names of its metrics begin with buffered-.
//
// Proof, once for each set-up: a marker (a random text) that was written through the volume is not on the device in
// clear. In an arm without encryption the marker is there in clear. Before every trial: the kernel reports that the
// volume's directory has the policy.
package fscrypt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/volumes"
	"tare/internal/testbed"
)

const name = "fscrypt"

type mode string

const (
	aes256   mode = "AES-256-XTS"
	aes128   mode = "AES-128-CBC"
	adiantum mode = "Adiantum"
)

// modes maps each mode to the kernel's numbers (FSCRYPT_MODE_…) for contents and for file names, and to the cipher's
// name in /proc/crypto.
var modes = map[mode]struct {
	contents, names uint8
	cipher          string
}{
	aes256:   {1, 4, "xts(aes)"},
	aes128:   {5, 6, "essiv(cbc(aes),sha256)"},
	adiantum: {9, 9, "adiantum(xchacha12,aes)"},
}

type config struct {
	Contents factor.Levels[mode] `yaml:"contents" json:"contents" enum:"AES-256-XTS,AES-128-CBC,Adiantum" doc:"encryption mode of contents; file names are encrypted by the matching mode"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "files of the volume encrypted by its file system (ext4, fscrypt)",
	New:     newLayer,
	Probe:   volumes.Probe(name, "", "", newLayer()),
}

func newLayer() layer.Layer { return &config{Contents: factor.Of(aes256)} }

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: volumes.Needs, Elsewhere: volumes.Elsewhere, OwnProves: true}
}

func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
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

const none = "none" // the policy of a directory without encryption

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

// ProveOff shows that the volume has no policy and, if no layer of the arm encrypts, that the marker is on the device
// in clear.
func (c *config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	checks, err := policyCheck(stack, stack.Volume(), none)
	return append(volumes.Clear(name, stack), checks...), err
}
