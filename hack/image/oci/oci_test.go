package oci

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// platforms are images of one layer with one file each.
func platforms(t *testing.T, arches ...string) []Image {
	t.Helper()
	var images []Image
	for _, arch := range arches {
		var layer bytes.Buffer
		w := tar.NewWriter(&layer)
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "arch", Mode: 0o644, Size: int64(len(arch))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, arch); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), arch+".tar")
		if err := os.WriteFile(file, layer.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		images = append(images, Image{
			Platform: v1.Platform{OS: "linux", Architecture: arch},
			Layers:   []string{file},
			Config:   v1.Config{User: "65532:65532", Entrypoint: []string{"/arch"}},
		})
	}
	return images
}

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	written, err := Write(file, "tare:latest", platforms(t, "arm64", "amd64"))
	if err != nil {
		t.Fatal(err)
	}
	dir := unpack(t, file)

	// As an OCI layout: one index of two platforms, with the name that containerd
	// gives it.
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	top, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Error(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("the layout has %d images, want 1", len(manifest.Manifests))
	}
	one := manifest.Manifests[0]
	if one.MediaType != types.OCIImageIndex || one.Digest != written.Index ||
		one.Annotations["io.containerd.image.name"] != "docker.io/library/tare:latest" ||
		one.Annotations["org.opencontainers.image.ref.name"] != "latest" {
		t.Errorf("the image is %+v", one)
	}
	index, err := top.ImageIndex(one.Digest)
	if err != nil {
		t.Fatal(err)
	}
	children, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range children.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Platform().String() != m.Platform.String() || config.Config.User != "65532:65532" || !config.Created.IsZero() {
			t.Errorf("the image for %s has the configuration %+v", m.Platform, config)
		}
		got = append(got, m.Platform.String())
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(got, want) {
		t.Errorf("platforms are %v, want %v", got, want)
	}

	// As docker's archive: the first platform.
	docker, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(docker); err != nil {
		t.Error(err)
	}
	if config, err := docker.ConfigFile(); err != nil || config.Architecture != "arm64" {
		t.Errorf("docker finds %+v, %v; want the image for arm64", config, err)
	}
	var entries []tarball.Descriptor
	content, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &entries); err != nil || !slices.Equal(entries[0].RepoTags, []string{"tare:latest"}) {
		t.Errorf("docker finds %+v, %v", entries, err)
	}
}

func TestWriteReproducible(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, arches ...string) ([]byte, v1.Hash) {
		written, err := Write(filepath.Join(dir, name), "tare:latest", platforms(t, arches...))
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return content, written.Index
	}
	first, digest := write("first", "amd64", "arm64")
	if again, _ := write("again", "amd64", "arm64"); !bytes.Equal(first, again) {
		t.Error("the same image gives other bytes")
	}
	if _, other := write("other", "arm64", "amd64"); other != digest {
		t.Errorf("the order of platforms changes the digest from %s to %s", digest, other)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	if _, err := Write(file, "Not A Name", platforms(t, "amd64")); err == nil || !strings.Contains(err.Error(), "Not A Name") {
		t.Errorf("got %v", err)
	}
	images := platforms(t, "amd64")
	images[0].Layers = []string{"/nonexistent"}
	if _, err := Write(file, "tare:latest", images); err == nil || !strings.Contains(err.Error(), "layer /nonexistent") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an archive is there: %v", err)
	}
}

func TestDockerNames(t *testing.T) {
	for reference, want := range map[string]string{
		"tare:latest":                     "docker.io/library/tare:latest",
		"registry.example/team/tare:v1":   "registry.example/team/tare:v1",
		"registry.example:5000/tare:v1.2": "registry.example:5000/tare:v1.2",
	} {
		file := filepath.Join(t.TempDir(), "image.tar")
		if _, err := Write(file, reference, platforms(t, "amd64")); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(unpack(t, file), "index.json"))
		if err != nil || !strings.Contains(string(content), `"`+want+`"`) {
			t.Errorf("%s: want %s in %s, %v", reference, want, content, err)
		}
	}
}

// unpack unpacks an archive and returns where.
func unpack(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(at, 0o755)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(at, content, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
