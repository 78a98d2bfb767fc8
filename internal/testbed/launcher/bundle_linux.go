package launcher

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
)

// spec is that part of the Open Container Initiative's runtime specification that a bundle needs. The
// container uses the network namespace of its caller.
type spec struct {
	Version string  `json:"ociVersion"`
	Process process `json:"process"`
	Root    root    `json:"root"`
}

type process struct {
	Args         []string            `json:"args"`
	Env          []string            `json:"env"`
	Cwd          string              `json:"cwd"`
	User         user                `json:"user"`
	Capabilities map[string][]string `json:"capabilities"`
}

type user struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

type root struct {
	Path string `json:"path"`
}

// contain makes the command run in a container. The command has the same variables and the same user as
// without the container. If the user is root, the command has all capabilities.
func (p *prepared) contain(b *Bundle, args, environment []string, directory string) (err error) {
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, prefix) }) {
		return errors.New("a container cannot receive descriptors: list this layer after the other one, so that it wraps it")
	}
	if directory == "" {
		if directory, err = os.Getwd(); err != nil {
			return err
		}
	}
	s := spec{Version: "1.0.0", Root: root{Path: "/"}}
	s.Process = process{Args: args, Env: environment, Cwd: directory, User: user{os.Getuid(), os.Getgid()}, Capabilities: map[string][]string{}}
	for _, set := range []string{"bounding", "effective", "permitted"} {
		s.Process.Capabilities[set] = capabilities
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	config, err := p.open(text)
	if err != nil {
		return err
	}
	id := "tare-" + rand.Text()
	p.Args = slices.Concat(p.Args, []string{"-m", b.Directory, "-f", config, "--"}, b.Runtime, []string{id})
	return nil
}

// capabilities lists the capabilities that root has in a sandbox. The sandbox itself decides what they allow.
var capabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_MKNOD", "CAP_AUDIT_WRITE", "CAP_SETFCAP"}
