package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/test/cluster/build"
	"tare/test/cluster/image"
)

// Gatekeeper is a policy engine: an admission webhook that the API server asks about each object.
const (
	gatekeeper          = "gatekeeper"
	gatekeeperVersion   = "v3.23.1" // of the nested module
	gatekeeperModule    = "github.com/open-policy-agent/gatekeeper/v3"
	gatekeeperReference = imageHub + "/gatekeeper:" + gatekeeperVersion
	gatekeeperHost      = "Gatekeeper " + gatekeeperVersion
)

// policyEngines are what can be installed to decide about objects.
var policyEngines = []string{gatekeeper}

func gatekeeperProgram(source string) build.Program {
	return build.Program{
		Name: gatekeeper, Dir: filepath.Join(source, "gatekeeper"), Package: gatekeeperModule, Flags: []string{"-ldflags=-s -w"},
		Note: " (Gatekeeper: 4 minutes on two idle cores)",
	}
}

// gatekeeperImage has what its manifest starts.
func gatekeeperImage(bin string) (image.Image, error) {
	return image.Static(gatekeeperReference, filepath.Join(bin, gatekeeper), "/manager", "65532:65532")
}

// installGatekeeper applies the manifest of its own release, with another image, and waits until its pods are ready.
func (c *Cluster) installGatekeeper(ctx context.Context, source string) error {
	ctx, cancel := context.WithTimeout(ctx, productLimit)
	defer cancel()
	module, err := gatekeeperProgram(source).ModuleDir(ctx, gatekeeperModule)
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(module, "deploy", "gatekeeper.yaml"))
	if err != nil {
		return err
	}
	const exempt = "- --exempt-namespace=gatekeeper-system\n"
	ours := strings.NewReplacer("openpolicyagent/gatekeeper:"+gatekeeperVersion, gatekeeperReference, "imagePullPolicy: Always", "imagePullPolicy: IfNotPresent",
		// An arm without it has its namespace left alone by a label, which Gatekeeper lets only these have.
		exempt, exempt+"        - --exempt-namespace-prefix=tare-\n")
	file := filepath.Join(c.Dir(), "gatekeeper.yaml")
	if err := os.WriteFile(file, []byte(ours.Replace(string(manifest))), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apply", "--server-side", "--filename=" + file},
		{"wait", "--namespace=gatekeeper-system", "--for=condition=Available", "--timeout=" + productLimit.String(), "deployments", "--all"},
	} {
		kubectl, err := c.Kubectl(args...)
		if err != nil {
			return err
		}
		if out, err := kubectl.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
