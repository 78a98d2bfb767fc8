// Package luks is the layer that encrypts the device under the file system of a volume: LUKS 2 by
// dm-crypt of the kernel, set up by cryptsetup with a key that is drawn for each set-up and kept
// nowhere.
//
//   - luks: {sectorSize: [512, 4096], workqueues: false}
//
// It is what storage drivers of clusters do on the node, Constellation's among them. Direct I/O
// goes through it to the device.
//
// Proof, once for each set-up: a marker that was written through the volume is not on the device in
// clear, which it is in an arm that does not encrypt. Before every trial: cryptsetup says of the
// mapping which cipher it has, and on which device it is.
package luks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/evidence"
	"tare/layer/volumes"
	"tare/testbed"
)

const (
	name    = "luks"
	program = "cryptsetup"
	remover = "dmsetup" // on every system with the former
)

// Integrity is the authentication of each sector (dm-integrity).
type Integrity string

// The choices.
const (
	NoIntegrity Integrity = "none"
	HMAC        Integrity = "hmac-sha256"
	AEAD        Integrity = "aead"
)

// Values lists the choices.
func (Integrity) Values() []string { return []string{string(NoIntegrity), string(HMAC), string(AEAD)} }

// Config is the parameters of the layer.
type Config struct {
	Cipher     factor.Levels[string]    `yaml:"cipher" json:"cipher" pattern:"^[a-z0-9]+(,[a-z0-9]+)?(-[a-z0-9:]+){1,2}$" form:"a cipher as dm-crypt has it, such as aes-xts-plain64" doc:"cipher as dm-crypt has it"`
	KeySize    int                      `yaml:"keySize" json:"keySize" doc:"bits of the key; xts uses half of them for each of its two"`
	SectorSize factor.Levels[int]       `yaml:"sectorSize" json:"sectorSize" doc:"bytes that are encrypted as one: 512, 1024, 2048 or 4096"`
	Integrity  factor.Levels[Integrity] `yaml:"integrity" json:"integrity" doc:"authentication of each sector, which doubles what is written: none, hmac-sha256, or aead for a cipher that does it by itself"`
	Workqueues bool                     `yaml:"workqueues" json:"workqueues" doc:"encrypt in threads of the kernel; false encrypts where the request comes from, which is often faster on fast devices (Korchagin 2020)"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "the device under the volume's file system encrypted by dm-crypt (LUKS 2, cryptsetup)",
	New:     newLayer,
	Probe:   probe,
}

func newLayer() layer.Layer {
	return &Config{Cipher: factor.Of("aes-xts-plain64"), KeySize: 512, SectorSize: factor.Of(4096), Integrity: factor.Of(NoIntegrity), Workqueues: true}
}

// control is where programs speak with the device mapper.
const control = "/dev/mapper/control"

// probe looks for the device mapper before it tries: without one cryptsetup says little.
func probe(ctx context.Context) []testbed.Finding {
	if _, err := exec.LookPath(program); err == nil {
		if err := mapper(); err != nil {
			return []testbed.Finding{{Name: "dm-crypt", Status: testbed.Refused, Detail: err.Error(), Hint: "modprobe dm-crypt, on a kernel that has it (CONFIG_DM_CRYPT)"}}
		}
	}
	return volumes.Probe("dm-crypt", program, "apt-get install cryptsetup-bin", newLayer())(ctx)
}

// mapper says why this kernel has no device mapper; nil: it has one.
func mapper() error {
	f, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("this kernel has no device mapper, and so no dm-crypt: %w", err)
	}
	return f.Close()
}

// Declare says that the layer is for volumes of this machine, and takes cryptsetup.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Validate: c.validate,
		Needs:    volumes.Needs, Elsewhere: volumes.Elsewhere,
		Programs:  []experiment.Program{{Name: program, Where: experiment.OnMachine}, {Name: remover, Where: experiment.OnMachine}},
		Tools:     []experiment.Tool{{Name: program, Version: []string{"--version"}}},
		OwnProves: true,
	}
}

func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	if c.KeySize != 128 && c.KeySize != 256 && c.KeySize != 512 {
		errs.Add("keySize", "%d is none of 128, 256 and 512", c.KeySize)
	}
	for i, n := range c.SectorSize {
		if n != 512 && n != 1024 && n != 2048 && n != 4096 {
			errs.Add(fmt.Sprintf("sectorSize[%d]", i), "%d is none of 512, 1024, 2048 and 4096", n)
		}
	}
	return errs
}

// Up asks for the part of the volume.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
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

// ProveOff shows that, where nothing encrypts, the marker is on the device. What the volume is
// on is the testbed's loop device, by the way it is made.
func (c *Config) ProveOff(_ context.Context, s *layer.Session) ([]layer.Check, error) {
	stack, err := volumes.Stack(s.Site)
	if err != nil {
		return nil, err
	}
	return volumes.Clear(name, stack), nil
}

// active is the layer at one site.
type active struct {
	config *Config
	site   testbed.Site
	stack  testbed.VolumeStack
	mapped string // name of the mapping
}

// formatLimit is how long it may take to make the device: with integrity, all of it is written.
const formatLimit = 30 * time.Minute

func (a *active) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := testbed.Command{Args: args, Stdin: strings.NewReader(stdin)}
	return evidence.Output(ctx, a.site, testbed.ClientPod, cmd, formatLimit)
}

// put encrypts the device, and gives the mapping in its place.
func (a *active) put(ctx context.Context, device, mapping string) (string, error) {
	var drawn [32]byte
	_, _ = rand.Read(drawn[:])
	key := hex.EncodeToString(drawn[:]) // goes through standard input, and is kept nowhere
	if _, err := a.run(ctx, key, append(a.config.format(), device)...); err != nil {
		return "", err
	}
	a.mapped = mapping
	if _, err := a.run(ctx, key, append(a.config.open(), device, mapping)...); err != nil {
		return "", err
	}
	return "/dev/mapper/" + mapping, nil
}

// format are the arguments that make the device. The passphrase is not guessed here: few rounds
// are as good as many, and faster.
func (c *Config) format() []string {
	args := []string{
		program, "luksFormat", "--batch-mode", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--key-file", "-",
		"--cipher", c.Cipher.One(), "--key-size", strconv.Itoa(c.KeySize), "--sector-size", strconv.Itoa(c.SectorSize.One()),
	}
	if i := c.Integrity.One(); i != NoIntegrity {
		args = append(args, "--integrity", string(i))
	}
	return args
}

// open are the arguments that make the mapping.
func (c *Config) open() []string {
	args := []string{program, "open", "--type", "luks2", "--key-file", "-"}
	if !c.Workqueues {
		args = append(args, "--perf-no_read_workqueue", "--perf-no_write_workqueue")
	}
	return args
}

// settle has the mapping end with the mount that is on it, however this process dies, and makes
// the proofs of the set-up. (cryptsetup close --deferred fails where there is another mapping below it.)
func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	if !strings.HasPrefix(a.stack.Volume(), "/dev/") {
		names := []string{a.mapped}
		if a.config.Integrity.One() != NoIntegrity {
			names = append(names, a.mapped+"_dif")
		}
		if _, err := a.run(ctx, "", append([]string{remover, "remove", "--deferred"}, names...)...); err != nil {
			return nil, err
		}
	}
	return []layer.Check{volumes.Hidden(name, a.stack), volumes.Driver(name, cryptoName(a.config.Cipher.One()))}, nil
}

// cryptoName is the cipher of dm-crypt as /proc/crypto has it: aes-xts-plain64 is xts(aes), and
// xchacha12,aes-adiantum-plain64 is adiantum(xchacha12,aes).
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

// before asks cryptsetup what the mapping is.
func (a *active) before(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	text, err := a.run(ctx, "", program, "status", a.mapped)
	if err != nil {
		return nil, err
	}
	return []layer.Check{a.config.status(text)}, nil
}

// status holds what cryptsetup says of the mapping against what was asked for.
func (c *Config) status(text string) layer.Check {
	check := layer.Check{Layer: name, Name: "mapping", Expected: fmt.Sprintf("%s in sectors of %d", c.Cipher.One(), c.SectorSize.One()), Observed: evidence.Quote(text)}
	cipher, sector := statusCipher.FindStringSubmatch(text), statusSector.FindStringSubmatch(text)
	if cipher != nil && sector != nil {
		check.Observed = fmt.Sprintf("%s in sectors of %s", cipher[1], sector[1])
		check.OK = check.Observed == check.Expected
	}
	return check
}
