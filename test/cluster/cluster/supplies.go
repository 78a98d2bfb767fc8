package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"tare/test/cluster/build"
	"tare/test/cluster/image"
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

func (c *Cluster) supplies(ctx context.Context, o Options) (supplies, error) {
	cache, err := build.Cache()
	if err != nil {
		return supplies{}, err
	}
	kubernetes, err := kubernetesFlags(filepath.Join(o.Source, "kk", "go.mod"))
	if err != nil {
		return supplies{}, err
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
	var stages []byte
	if o.Kwok > 0 {
		kwok := build.Program{Name: "kwok", Dir: filepath.Join(o.Source, "kwok"), Package: "sigs.k8s.io/kwok/cmd/kwok",
			Flags: []string{"-ldflags=-s -w"}, Note: " (kwok: 2 minutes on two idle cores)"}
		programs = append(programs, kwok)
		if stages, err = kwokStages(ctx, kwok); err != nil {
			return supplies{}, err
		}
	}
	bin, err := build.Programs(ctx, cache, c.Log, programs...)
	if err != nil {
		return supplies{}, err
	}
	pause, err := image.Pause(filepath.Join(bin, "pause"))
	if err != nil {
		return supplies{}, err
	}
	tools, err := image.Tools(ctx)
	if err != nil {
		return supplies{}, fmt.Errorf("image of tools: %w", err)
	}
	s := supplies{bin: bin, stages: stages}
	for _, i := range []image.Image{pause, tools} {
		archive, err := i.Cached(cache)
		if err != nil {
			return supplies{}, err
		}
		s.images = append(s.images, archive)
	}
	return s, nil
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
