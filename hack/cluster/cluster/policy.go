package cluster

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/hack/cluster/build"
	"tare/hack/cluster/image"
)

// engine is a policy engine: admission webhooks that the API server asks about objects.
type engine struct {
	name      string // of the option's value, and of the nested module
	title     string
	version   string // of the nested module
	module    string // with the sources, and with the manifest of its own release
	manifest  string // file of the module
	namespace string // that the manifest installs it in
	user      string // that the manifest's pods run as
	note      string // what to expect when it has to be compiled
	programs  []engineProgram
	also      []string // what is replaced in the manifest besides images: old and new in turn
}

// engineProgram is one static program, in an image of its own.
type engineProgram struct {
	of    string // package of the module
	image string // that the manifest names
	at    string // where that image has the program
}

const (
	gatekeeperVersion = "v3.23.1"
	gatekeeperExempt  = "- --exempt-namespace=gatekeeper-system\n"
)

var engines = []engine{
	{
		name: "gatekeeper", title: "Gatekeeper", version: gatekeeperVersion, note: " (Gatekeeper: 4 minutes on two idle cores)",
		module: "github.com/open-policy-agent/gatekeeper/v3", manifest: "deploy/gatekeeper.yaml", namespace: "gatekeeper-system", user: "65532:65532",
		programs: []engineProgram{{"", "openpolicyagent/gatekeeper:" + gatekeeperVersion, "/manager"}},
		also: []string{"imagePullPolicy: Always", "imagePullPolicy: IfNotPresent",
			// An arm without it has its namespace left alone by a label, which Gatekeeper lets only these have.
			gatekeeperExempt, gatekeeperExempt + "        - --exempt-namespace-prefix=tare-\n"},
	},
	{
		name: "kyverno", title: "Kyverno", version: "v1.19.1", note: " (Kyverno: 6 minutes on two idle cores)",
		module: "github.com/kyverno/kyverno", manifest: "config/install-latest-testing.yaml", namespace: "kyverno", user: "65534:65534",
		programs: []engineProgram{
			{"cmd/kyverno", "reg.kyverno.io/kyverno/kyverno:latest", "/ko-app/kyverno"},
			{"cmd/kyverno-init", "reg.kyverno.io/kyverno/kyvernopre:latest", "/ko-app/kyverno-init"},
			{"cmd/background-controller", "reg.kyverno.io/kyverno/background-controller:latest", "/ko-app/background-controller"},
			{"cmd/cleanup-controller", "reg.kyverno.io/kyverno/cleanup-controller:latest", "/ko-app/cleanup-controller"},
			{"cmd/reports-controller", "reg.kyverno.io/kyverno/reports-controller:latest", "/ko-app/reports-controller"},
		},
	},
}

// engine is the one to install, nil if none is.
func (o Options) engine() *engine {
	for i := range engines {
		if engines[i].name == o.Policy {
			return &engines[i]
		}
	}
	return nil
}

func engineNames() []string {
	var names []string
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

// host is how the cluster's messages call it.
func (e engine) host() string { return e.title + " " + e.version }

// name is that of the program and of its image here: what the engine calls the image.
func (p engineProgram) name() string {
	name, _, _ := strings.Cut(path.Base(p.image), ":")
	return name
}

func (e engine) reference(p engineProgram) string { return imageHub + "/" + p.name() + ":" + e.version }

func (e engine) builds(source string) []build.Program {
	var programs []build.Program
	for _, p := range e.programs {
		programs = append(programs, build.Program{
			Name: p.name(), Dir: filepath.Join(source, e.name), Package: path.Join(e.module, p.of), Flags: []string{"-ldflags=-s -w"},
		})
	}
	programs[0].Note = e.note
	return programs
}

func (e engine) images(bin string) ([]image.Image, error) {
	var images []image.Image
	for _, p := range e.programs {
		i, err := image.Static(e.reference(p), filepath.Join(bin, p.name()), p.at, e.user)
		if err != nil {
			return nil, err
		}
		images = append(images, i)
	}
	return images, nil
}

// install applies the manifest of the engine's own release, with other images, and waits until its pods are ready.
func (c *Cluster) install(ctx context.Context, e engine, source string) error {
	ctx, cancel := context.WithTimeout(ctx, productLimit)
	defer cancel()
	module, err := e.builds(source)[0].ModuleDir(ctx, e.module)
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(module, e.manifest))
	if err != nil {
		return err
	}
	ours := slices.Clone(e.also)
	for _, p := range e.programs {
		ours = append(ours, p.image, e.reference(p))
	}
	for i := 0; i < len(ours); i += 2 {
		if !strings.Contains(string(manifest), ours[i]) {
			return fmt.Errorf("%s: the manifest of %s has no %q", e.manifest, e.host(), ours[i])
		}
	}
	file := filepath.Join(c.Dir(), e.name+".yaml")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(ours...).Replace(string(manifest))), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apply", "--server-side", "--filename=" + file},
		{"wait", "--namespace=" + e.namespace, "--for=condition=Available", "--timeout=" + productLimit.String(), "deployments", "--all"},
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
