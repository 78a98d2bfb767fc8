// Package gocryptfs is the layer that encrypts the files of a volume by gocryptfs, a file system outside the kernel
// (FUSE). gocryptfs stores the encrypted files in a directory of the volume.
//
//   - gocryptfs: {cipher: [AES-GCM, XChaCha20-Poly1305]}
//
// The layer has two costs: the way through FUSE, and the cipher. The layer fuse-passthrough has only the first cost. A
// program's direct I/O ends at gocryptfs, which accesses its own files through the page cache. The workload storage
// detects this: the trial is invalid, or the names of its metrics begin with buffered-.
//
// Proof, once for each set-up: a marker (a random text) that was written through the volume is not on the device in
// clear. In an arm without encryption the marker is there in clear. Before every trial: the volume is a FUSE mount, and
// the process of this mount runs.
package gocryptfs

import (
	"context"
	"crypto/rand"
	"os"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/volumes"
	"tare/internal/testbed"
)

const name = "gocryptfs"

type cipher string

const (
	aesgcm  cipher = "AES-GCM"
	aessiv  cipher = "AES-SIV"
	xChaCha cipher = "XChaCha20-Poly1305"
)

type config struct {
	Cipher factor.Levels[cipher] `yaml:"cipher" json:"cipher" enum:"AES-GCM,AES-SIV,XChaCha20-Poly1305" doc:"cipher of the contents"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "files of the volume encrypted by gocryptfs, outside the kernel (FUSE)",
	New:     newLayer,
	Probe:   volumes.Probe(name, name, "apt-get install gocryptfs", newLayer()),
}

func newLayer() layer.Layer { return &config{Cipher: factor.Of(aesgcm)} }

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs: volumes.Needs, Elsewhere: volumes.Elsewhere,
		Programs:  []experiment.Program{{Name: name, Where: experiment.OnMachine}},
		Tools:     []experiment.Tool{{Name: name, Version: []string{"-version"}}},
		OwnProves: true,
	}
}

func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	a := &active{config: c, site: s.Site}
	settle := func(stack testbed.VolumeStack) []layer.Check {
		return []layer.Check{volumes.Hidden(name, stack), a.implementation()}
	}
	daemon := &volumes.Daemon{Kind: name, Encrypts: true, Files: "cipher", Mode: 0o700, Through: "plain", Command: a.command, Settle: settle}
	return daemon.Up(s)
}

// ProveOff shows that the volume is no mount of gocryptfs. If no layer of the arm encrypts, the marker (a known text)
// must be readable on the device.
func (c *config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	checks, err := volumes.Absent(name, name, stack)
	return append(volumes.Clear(name, stack), checks...), err
}

type active struct {
	config *config
	site   testbed.Site
	info   string // gocryptfs's description of the directory of encrypted files
}

// ciphers holds, for each cipher, its options of gocryptfs -init, and the word for it where gocryptfs describes a
// directory.
var ciphers = map[cipher]struct {
	options []string
	flag    string
}{aesgcm: {nil, "GCMIV128"}, aessiv: {[]string{"-aessiv"}, "AESSIV"}, xChaCha: {[]string{"-xchacha"}, "XChaCha20Poly1305"}}

// command initialises a directory of encrypted files, and returns the command that mounts it.
func (a *active) command(ctx context.Context, cipher, plain string) (mount testbed.Command, err error) {
	password := rand.Text() + "\n" // the password goes through standard input and is not stored
	run := func(args ...string) (string, error) {
		cmd := testbed.Command{Args: append([]string{name}, args...), Stdin: strings.NewReader(password)}
		return evidence.Output(ctx, a.site, testbed.ClientPod, cmd, evidence.Limit)
	}
	// Few rounds of scrypt are enough, since nobody can guess the password.
	args := append([]string{"-init", "-q", "-scryptn", "10"}, ciphers[a.config.Cipher.One()].options...)
	if _, err := run(append(args, cipher)...); err != nil {
		return mount, err
	}
	a.info, err = run("-info", cipher)
	return testbed.Command{Args: []string{name, "-fg", "-q", "-nosyslog", cipher, plain}, Stdin: strings.NewReader(password)}, err
}

func (a *active) implementation() layer.Check {
	want := ciphers[a.config.Cipher.One()].flag
	c := layer.Check{Layer: name, Name: "cipher of the directory", Expected: want, Observed: evidence.Quote(a.info), Once: true, OK: strings.Contains(a.info, want)}
	if c.OK {
		c.Observed = want
	}
	cpu, err := os.ReadFile("/proc/cpuinfo")
	switch {
	case a.config.Cipher.One() == xChaCha || err != nil:
	case hasAES(string(cpu)):
		c.Observed += ", by OpenSSL or Go with the processor's AES instructions"
	default:
		c.Observed += ", without AES instructions of the processor"
		c.Caveat = "this processor has no AES instructions: gocryptfs is many times faster on processors with AES instructions"
	}
	return c
}

func hasAES(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		key, list, _ := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if (key == "flags" || key == "Features") && slices.Contains(strings.Fields(list), "aes") {
			return true
		}
	}
	return false
}
