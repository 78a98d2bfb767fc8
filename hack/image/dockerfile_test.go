package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// TestDockerfile reads the Dockerfile as BuildKit does: its last stage must be
// the configuration of the image that this program builds, and its files those
// of the command rootfs, which TestImage compares with that image's.
func TestDockerfile(t *testing.T) {
	content, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, format string, _ []parser.Range) {
		t.Errorf("BuildKit warns: %s: %s", rule, format)
	}})
	stages, _, err := instructions.Parse(file.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) != 2 || stages[0].Name != "build" || stages[1].BaseName != "scratch" {
		t.Fatalf("stages are %+v, want build and one from scratch", stages)
	}
	if got := stages[0].Platform; got != "$BUILDPLATFORM" {
		t.Errorf("the stage build is for %q: it would be emulated", got)
	}
	var got v1.Config
	for _, command := range stages[1].Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			got.User = c.User
		case *instructions.WorkdirCommand:
			got.WorkingDir = c.Path
		case *instructions.EntrypointCommand:
			got.Entrypoint = c.CmdLine
		case *instructions.EnvCommand:
			for _, e := range c.Env {
				got.Env = append(got.Env, e.String())
			}
		case *instructions.LabelCommand:
			got.Labels = map[string]string{}
			for _, l := range c.Labels {
				got.Labels[l.Key] = strings.Trim(l.Value, `"`)
			}
		case *instructions.CopyCommand:
			if c.From != "build" || !slices.Equal(c.SourcePaths, []string{"/out/rootfs/"}) || c.DestPath != "/" {
				t.Errorf("it copies %v", c)
			}
		case *instructions.ArgCommand:
		default:
			t.Errorf("it does %s, which `make image` does not", c.Name())
		}
	}
	if diff := cmp.Diff(config("${VERSION}", "${REVISION}"), got); diff != "" {
		t.Errorf("the Dockerfile's image differs from make image's (-make +Dockerfile):\n%s", diff)
	}
}

// TestDockerfileGo holds the version of Go in the Dockerfile to that of go.mod,
// which a newer one satisfies without a download.
func TestDockerfileGo(t *testing.T) {
	find := func(file, pattern string) string {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(content)
		if m == nil {
			t.Fatalf("%s has nothing like %s", file, pattern)
		}
		return string(m[1])
	}
	image := find("Dockerfile", `(?m)^ARG GO_IMAGE=docker\.io/library/golang:(\d+\.\d+)\.\d+-bookworm$`)
	module := find("../../go.mod", `(?m)^go (\d+\.\d+)\.`)
	if image != module {
		t.Errorf("the Dockerfile takes Go %s, go.mod wants %s", image, module)
	}
}
