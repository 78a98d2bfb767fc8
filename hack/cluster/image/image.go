// Package image makes container images from files of this machine, with no
// registry, no daemon and no Dockerfile: an archive that `ctr images import`
// and `docker load` read.
package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"tare/hack/image/tree"
)

// Image is what a container starts from. All of it belongs to root.
type Image struct {
	Reference  string // such as tare.test/tools:1
	Files      tree.Tree
	Entrypoint []string
	User       string // that it starts as, such as 1337:1337; root if empty
}

// Cached returns the image as a docker archive below dir, under a hash of its
// content, and writes it there if it is not.
func (i Image) Cached(dir string) (file string, err error) {
	var layer bytes.Buffer
	if err := i.Files.Write(&layer); err != nil {
		return "", fmt.Errorf("image %s: %w", i.Reference, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q %s\n", i.Reference, i.Entrypoint, i.User, runtime.GOARCH)
	h.Write(layer.Bytes())
	base := strings.NewReplacer("/", "-", ":", "-").Replace(i.Reference)
	file = filepath.Join(dir, base+"-"+hex.EncodeToString(h.Sum(nil))[:16]+".tar")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	return file, i.write(file, layer.Bytes())
}

// write writes a docker archive. Its layer is not compressed: it never leaves
// the machine. It is renamed into place when complete.
func (i Image) write(file string, layer []byte) error {
	ref, err := name.NewTag(i.Reference)
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer, types.DockerUncompressedLayer))
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{
		Entrypoint: i.Entrypoint,
		User:       i.User,
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	partial, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	defer partial.Close()
	if err := tarball.Write(ref, img, partial); err != nil {
		return fmt.Errorf("write image %s: %w", i.Reference, err)
	}
	return os.Rename(partial.Name(), file)
}
