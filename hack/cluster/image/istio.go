package image

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"tare/hack/image/tree"
)

// Sidecar is what the image of a mesh's proxy is made of.
type Sidecar struct {
	Reference string
	Agent     string // pilot-agent, a static program
	Envoy     string
	Bootstrap string // Istio's template of Envoy's first configuration
}

// Image has the sidecar, and with iptables what sends a pod's traffic to it. Envoy, iptables
// and their libraries are those of this machine.
func (s Sidecar) Image(ctx context.Context) (Image, error) {
	files := tree.Tree{
		"/etc/passwd": {Mode: 0o644, Content: []byte("root:x:0:0:root:/:/\nistio-proxy:x:1337:1337::/:/\n")},
		"/etc/group":  {Mode: 0o644, Content: []byte("root:x:0:\nistio-proxy:x:1337:\n")},
		"/tmp":        {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"/run":        {Mode: fs.ModeDir | 0o755},
	}
	const agent = "/usr/local/bin/pilot-agent"
	taken := map[string]string{agent: s.Agent, "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json": s.Bootstrap}
	extensions, err := filepath.Glob("/usr/lib/*/xtables/lib*.so") // iptables opens its matches and targets by name
	if err == nil && len(extensions) == 0 {
		err = errors.New("iptables has no extensions in /usr/lib/*/xtables")
	}
	if err != nil {
		return Image{}, err
	}
	for _, extension := range extensions {
		taken[extension] = extension
	}
	const authorities = "/etc/ssl/certs/ca-certificates.crt" // without it the agent warns at every call
	if _, err := os.Stat(authorities); err == nil {
		taken[authorities] = authorities
	}
	for at, file := range taken {
		content, err := os.ReadFile(file)
		if err != nil {
			return Image{}, err
		}
		files[at] = tree.File{Mode: 0o755, Content: content}
	}
	const iptables = "xtables-nft-multi"
	program, err := exec.LookPath(iptables)
	if err != nil {
		return Image{}, err
	}
	for at, installed := range map[string]string{"/usr/local/bin/envoy": s.Envoy, "/usr/sbin/" + iptables: program} {
		if err := files.TakeInstalled(ctx, installed, at); err != nil {
			return Image{}, err
		}
	}
	maps.Copy(files, iptablesNames(iptables))
	return Image{Reference: s.Reference, Files: files, Entrypoint: []string{agent}}, nil
}

// iptablesNames are links by whose names the one program of iptables knows what it is to do.
func iptablesNames(program string) tree.Tree {
	names := tree.Tree{}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, variant := range []string{"", "-nft"} {
			for _, command := range []string{"", "-save", "-restore"} {
				names["/usr/sbin/"+family+variant+command] = tree.File{Mode: fs.ModeSymlink | 0o777, Target: program}
			}
		}
	}
	return names
}
