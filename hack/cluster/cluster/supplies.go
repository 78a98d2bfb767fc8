package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"tare/hack/cluster/build"
	"tare/hack/cluster/image"
)

// supplies are what clusters are made of, all of it cached.
type supplies struct {
	bin    string   // directory of the compiled programs
	images []string // archives
	stages []byte   // how kwok's nodes and pods behave; nil without kwok
}

// Compile makes all of it that the cache does not have, which is what takes
// minutes when a cluster is brought up for the first time.
func (c *Cluster) Compile(ctx context.Context, o Options) error {
	_, err := c.supplies(ctx, o)
	return err
}

// Missing names the programs that Compile would have to compile.
func Missing(ctx context.Context, o Options) ([]string, error) {
	cache, err := build.Cache()
	if err != nil {
		return nil, err
	}
	programs, err := o.programs()
	if err != nil {
		return nil, err
	}
	return build.Missing(ctx, cache, programs...)
}

func (c *Cluster) supplies(ctx context.Context, o Options) (supplies, error) {
	cache, err := build.Cache()
	if err != nil {
		return supplies{}, err
	}
	programs, err := o.programs()
	if err != nil {
		return supplies{}, err
	}
	var s supplies
	if o.Kwok > 0 {
		if s.stages, err = kwokStages(ctx, kwokProgram(o.Source)); err != nil {
			return supplies{}, err
		}
	}
	if s.bin, err = build.Programs(ctx, cache, c.Log, programs...); err != nil {
		return supplies{}, err
	}
	images, err := o.images(ctx, s.bin)
	if err != nil {
		return supplies{}, err
	}
	for _, i := range images {
		archive, err := i.Cached(cache)
		if err != nil {
			return supplies{}, err
		}
		s.images = append(s.images, archive)
	}
	return s, nil
}

// programs are those that the machine's packages do not have.
func (o Options) programs() ([]build.Program, error) {
	kubernetes, err := kubernetesFlags(filepath.Join(o.Source, "kk", "go.mod"))
	if err != nil {
		return nil, err
	}
	programs := []build.Program{
		{Name: "kk", Dir: filepath.Join(o.Source, "kk"), Package: ".", Flags: kubernetes,
			Note: " (Kubernetes: 6 minutes on two idle cores)"},
		{Name: "coredns", Dir: filepath.Join(o.Source, "coredns"), Package: ".", Flags: []string{"-ldflags=-s -w"},
			Note: " (1 minute on two idle cores)"},
		{Name: "pause", Dir: filepath.Join(o.Source, "pause"), Package: ".", Flags: []string{"-ldflags=-s -w"}},
	}
	if o.GVisor {
		gvisor := filepath.Join(o.Source, "gvisor")
		programs = append(programs,
			build.Program{Name: "runsc", Dir: gvisor, Package: "gvisor.dev/gvisor/runsc", Flags: []string{"-ldflags=-s -w"},
				Note: " (gVisor: 2 minutes on two idle cores)"},
			build.Program{Name: "containerd-shim-runsc-v1", Dir: gvisor, Package: "./shim", Flags: []string{"-ldflags=-s -w"}})
	}
	if o.Kwok > 0 {
		programs = append(programs, kwokProgram(o.Source))
	}
	if o.Istio {
		programs = append(programs, istioPrograms(o.Source)...)
	}
	if e := o.engine(); e != nil {
		programs = append(programs, e.builds(o.Source)...)
	}
	return programs, nil
}

// images are those that the nodes have from the beginning.
func (o Options) images(ctx context.Context, bin string) ([]image.Image, error) {
	pause, err := image.Static(image.PauseReference, filepath.Join(bin, "pause"), "/pause", "")
	if err != nil {
		return nil, err
	}
	tools, err := image.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("image of tools: %w", err)
	}
	images := []image.Image{pause, tools}
	if o.Istio {
		more, err := istioImages(ctx, o.Source, bin)
		if err != nil {
			return nil, fmt.Errorf("images of Istio: %w", err)
		}
		images = append(images, more...)
	}
	if e := o.engine(); e != nil {
		more, err := e.images(bin)
		if err != nil {
			return nil, fmt.Errorf("images of %s: %w", e.title, err)
		}
		images = append(images, more...)
	}
	return images, nil
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$`)

// kubernetesFlags are the linker flags that tell Kubernetes its own version,
// which its release builds pass too: clients compare it with theirs.
func kubernetesFlags(goMod string) ([]string, error) {
	content, err := os.ReadFile(goMod)
	if err != nil {
		return nil, fmt.Errorf("the sources of the test cluster are not where they were (see --source): %w", err)
	}
	v := kubernetesVersion.FindSubmatch(content)
	if v == nil {
		return nil, fmt.Errorf("%s: requires no version of k8s.io/kubernetes", goMod)
	}
	const pkg = "k8s.io/component-base/version"
	return []string{fmt.Sprintf("-ldflags=-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
		pkg, v[1], v[2], v[3])}, nil
}
