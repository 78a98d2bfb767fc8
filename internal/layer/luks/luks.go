// Package luks is the layer that encrypts the device under the file system of a volume: LUKS 2 with the kernel's
// dm-crypt, set up by cryptsetup. Each set-up has a new random key, never stored.
//
//   - luks: {sectorSize: [512, 4096], workqueues: false}
//
// Storage drivers of clusters, such as Constellation's, encrypt volumes like this on the node. Direct I/O goes through
// to the device.
//
// Proof, once for each set-up: a marker that was written through the volume is not on the device in clear. In an arm
// without encryption the marker is there in clear. Before every trial: cryptsetup reports the cipher and the sectors of
// the mapping.
package luks

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/volumes"
	"tare/internal/testbed"
)

const (
	name    = "luks"
	program = "cryptsetup"
	remover = "dmsetup" // every system with cryptsetup has this program
)

type integrity string

const (
	noIntegrity integrity = "none"
	hmac        integrity = "hmac-sha256"
	aead        integrity = "aead"
)

type config struct {
	Cipher     factor.Levels[string]    `yaml:"cipher" json:"cipher" pattern:"^[a-z0-9]+(,[a-z0-9]+)?(-[a-z0-9:]+){1,2}$" form:"a cipher as dm-crypt has it, such as aes-xts-plain64" doc:"cipher in the notation of dm-crypt"`
	KeySize    int                      `yaml:"keySize" json:"keySize" doc:"bits of the key; a cipher with xts splits the key in two halves"`
	SectorSize factor.Levels[int]       `yaml:"sectorSize" json:"sectorSize" doc:"bytes that are encrypted as one sector: 512, 1024, 2048 or 4096"`
	Integrity  factor.Levels[integrity] `yaml:"integrity" json:"integrity" enum:"none,hmac-sha256,aead" doc:"authentication of each sector, which doubles the bytes written: none, hmac-sha256, or aead for a cipher that includes it"`
	Workqueues bool                     `yaml:"workqueues" json:"workqueues" doc:"encrypt in threads of the kernel; false encrypts in the requesting thread, which is often faster on fast devices (Korchagin 2020)"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "the device under the volume's file system encrypted by dm-crypt (LUKS 2, cryptsetup)",
	New:     newLayer,
	Probe:   probe,
}

func newLayer() layer.Layer {
	return &config{Cipher: factor.Of("aes-xts-plain64"), KeySize: 512, SectorSize: factor.Of(4096), Integrity: factor.Of(noIntegrity), Workqueues: true}
}

const mapperControl = "/dev/mapper/control"

// probe looks for the kernel's device mapper before it runs cryptsetup, whose error would be unclear.
func probe(ctx context.Context) []testbed.Finding {
	if _, err := exec.LookPath(program); err == nil {
		if err := mapper(); err != nil {
			return []testbed.Finding{{Name: "dm-crypt", Status: testbed.Refused, Detail: err.Error(), Hint: "modprobe dm-crypt, on a kernel that has it (CONFIG_DM_CRYPT)"}}
		}
	}
	return volumes.Probe("dm-crypt", program, "apt-get install cryptsetup-bin", newLayer())(ctx)
}

func mapper() error {
	f, err := os.OpenFile(mapperControl, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("this kernel has no device mapper, and so no dm-crypt: %w", err)
	}
	return f.Close()
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate: c.validate,
		Needs:    volumes.Needs, Elsewhere: volumes.Elsewhere,
		Programs:  []experiment.Program{{Name: program, Where: experiment.OnMachine}, {Name: remover, Where: experiment.OnMachine}},
		Tools:     []experiment.Tool{{Name: program, Version: []string{"--version"}}},
		OwnProves: true,
	}
}

func (c *config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if c.KeySize != 128 && c.KeySize != 256 && c.KeySize != 512 {
		errs.Add("keySize", "%d is not one of 128, 256 and 512", c.KeySize)
	}
	for i, n := range c.SectorSize {
		if n != 512 && n != 1024 && n != 2048 && n != 4096 {
			errs.Add(fmt.Sprintf("sectorSize[%d]", i), "%d is not one of 512, 1024, 2048 and 4096", n)
		}
	}
	return errs
}

func (c *config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	if err := mapper(); err != nil {
		return nil, err
	}
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	a := &active{config: c, site: s.Site, stack: stack}
	if err := stack.AddVolumePart(testbed.VolumePart{Name: name, Encrypts: true, Device: a.put}); err != nil {
		return nil, err
	}
	return &layer.Active{Settle: a.settle, Before: a.before}, nil
}

// ProveOff shows that the marker can be read in clear on the device of another arm's volume. If another layer of that
// arm encrypts, it makes no check. It never looks for a device mapping: without this layer, the volume lies directly on
// the loop device.
func (c *config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	return volumes.Clear(name, stack), nil
}

type active struct {
	config *config
	site   testbed.Site
	stack  testbed.VolumeStack
	mapped string // name of the mapping
}

const formatLimit = 30 * time.Minute // timeout of cryptsetup, which writes the complete device if the layer has integrity

func (a *active) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := testbed.Command{Args: args, Stdin: strings.NewReader(stdin)}
	return evidence.Output(ctx, a.site, testbed.ClientPod, cmd, formatLimit)
}

func (a *active) put(ctx context.Context, device, mapping string) (string, error) {
	key := rand.Text() // the key goes through standard input and is not stored
	if _, err := a.run(ctx, key, append(a.config.format(), device)...); err != nil {
		return "", err
	}
	a.mapped = mapping
	if _, err := a.run(ctx, key, append(a.config.open(), device, mapping)...); err != nil {
		return "", err
	}
	return "/dev/mapper/" + mapping, nil
}

// format returns the command that formats the device. It asks for few rounds of key derivation: the key is random, so
// nobody can guess it.
func (c *config) format() []string {
	args := []string{
		program, "luksFormat", "--batch-mode", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--key-file", "-",
		"--cipher", c.Cipher.One(), "--key-size", strconv.Itoa(c.KeySize), "--sector-size", strconv.Itoa(c.SectorSize.One()),
	}
	if i := c.Integrity.One(); i != noIntegrity {
		args = append(args, "--integrity", string(i))
	}
	return args
}

func (c *config) open() []string {
	args := []string{program, "open", "--type", "luks2", "--key-file", "-"}
	if !c.Workqueues {
		args = append(args, "--perf-no_read_workqueue", "--perf-no_write_workqueue")
	}
	return args
}

// settle has the kernel remove the mapping after its mount, even if Tare is killed (not for raw devices). It uses
// dmsetup: cryptsetup fails on stacked mappings. It then makes the checks.
func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	if !strings.HasPrefix(a.stack.Volume(), "/dev/") {
		names := []string{a.mapped}
		if a.config.Integrity.One() != noIntegrity {
			names = append(names, a.mapped+"_dif")
		}
		if _, err := a.run(ctx, "", append([]string{remover, "remove", "--deferred"}, names...)...); err != nil {
			return nil, err
		}
	}
	return []layer.Check{volumes.Hidden(name, a.stack), volumes.Driver(name, cryptoName(a.config.Cipher.One()))}, nil
}

// cryptoName returns the name that /proc/crypto has for a cipher of dm-crypt: xts(aes) for aes-xts-plain64.
func cryptoName(cipher string) string {
	parts := strings.Split(cipher, "-")
	if len(parts) < 2 {
		return cipher
	}
	return parts[1] + "(" + parts[0] + ")"
}

var (
	statusCipher = regexp.MustCompile(`(?m)^\s*cipher:\s*(\S+)\s*$`)
	statusSector = regexp.MustCompile(`(?m)^\s*sector size:\s*(\d+)`)
)

func (a *active) before(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	text, err := a.run(ctx, "", program, "status", a.mapped)
	if err != nil {
		return nil, err
	}
	return []layer.Check{a.config.status(text)}, nil
}

func (c *config) status(text string) layer.Check {
	check := layer.Check{Layer: name, Name: "mapping", Expected: fmt.Sprintf("%s in sectors of %d", c.Cipher.One(), c.SectorSize.One()), Observed: evidence.Quote(text)}
	cipher, sector := statusCipher.FindStringSubmatch(text), statusSector.FindStringSubmatch(text)
	if cipher != nil && sector != nil {
		check.Observed = fmt.Sprintf("%s in sectors of %s", cipher[1], sector[1])
		check.OK = check.Observed == check.Expected
	}
	return check
}
