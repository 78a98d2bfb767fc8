// Package oci writes container images as archives: an OCI layout in a tar file
// that `ctr images import`, `skopeo`, `podman load`, `docker load` and
// `kind load image-archive` read, with no daemon and no registry. The same
// content gives the same bytes.
package oci

import (
	"archive/tar"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is the image of one platform.
type Image struct {
	Platform v1.Platform
	Layers   []string // files: tar archives, by gzip or not
	Config   v1.Config
}

// image builds it. It has no time: it depends on its content only.
func (i Image) image() (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = i.Platform.OS, i.Platform.Architecture, i.Config
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	for _, file := range i.Layers {
		layer, err := tarball.LayerFromFile(file, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, fmt.Errorf("layer %s: %w", file, err)
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, fmt.Errorf("layer %s: %w", file, err)
		}
	}
	return img, nil
}

// Written tells what is in an archive.
type Written struct {
	Index  v1.Hash // digest of the image for all platforms
	Images []WrittenImage
}

// WrittenImage is the image of one platform.
type WrittenImage struct {
	Platform         v1.Platform
	Digest           v1.Hash
	Compressed, Size int64 // bytes of the layers
}

// Write writes an archive of one image for several platforms under a name such
// as tare:latest. The file is renamed into place when complete. Programs that
// know docker's own format only, which holds one platform, find the first.
func Write(file, reference string, images []Image) (Written, error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return Written{}, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), ".layout-")
	if err != nil {
		return Written{}, err
	}
	defer os.RemoveAll(dir)
	written, err := writeLayout(dir, tag, images)
	if err != nil {
		return Written{}, err
	}
	partial, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return Written{}, err
	}
	defer os.Remove(partial.Name())
	defer partial.Close()
	if err := archive(partial, dir); err != nil {
		return Written{}, fmt.Errorf("write %s: %w", file, err)
	}
	if err := partial.Chmod(0o644); err != nil {
		return Written{}, err
	}
	return written, os.Rename(partial.Name(), file)
}

func writeLayout(dir string, tag name.Tag, images []Image) (Written, error) {
	built := make([]v1.Image, len(images))
	var written Written
	for i, one := range images {
		var err error
		if built[i], err = one.image(); err != nil {
			return Written{}, err
		}
		w, err := describe(one.Platform, built[i])
		if err != nil {
			return Written{}, err
		}
		written.Images = append(written.Images, w)
	}
	index := newIndex(images, built)
	var err error
	if written.Index, err = index.Digest(); err != nil {
		return Written{}, err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return Written{}, err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          dockerName(tag),
		"org.opencontainers.image.ref.name": tag.TagStr(),
	}))
	if err != nil {
		return Written{}, err
	}
	return written, writeDocker(dir, tag, built[0])
}

// newIndex lists the platforms in an order of its own, so that its digest does
// not depend on which comes first in docker's format.
func newIndex(images []Image, built []v1.Image) v1.ImageIndex {
	var manifests []mutate.IndexAddendum
	for i := range images {
		manifests = append(manifests, mutate.IndexAddendum{
			Add: built[i], Descriptor: v1.Descriptor{Platform: &images[i].Platform},
		})
	}
	slices.SortFunc(manifests, func(a, b mutate.IndexAddendum) int {
		return cmp.Compare(a.Platform.String(), b.Platform.String())
	})
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), manifests...)
}

func describe(platform v1.Platform, img v1.Image) (WrittenImage, error) {
	w := WrittenImage{Platform: platform}
	var err error
	if w.Digest, err = img.Digest(); err != nil {
		return w, err
	}
	layers, err := img.Layers()
	if err != nil {
		return w, err
	}
	for _, layer := range layers {
		compressed, err := layer.Size()
		if err != nil {
			return w, err
		}
		w.Compressed += compressed
		content, err := layer.Uncompressed()
		if err != nil {
			return w, err
		}
		size, err := io.Copy(io.Discard, content)
		content.Close()
		if err != nil {
			return w, err
		}
		w.Size += size
	}
	return w, nil
}

// writeDocker adds what `docker load` looks for where it does not know OCI
// layouts, as `docker save` does: a manifest that points to the same files.
func writeDocker(dir string, tag name.Tag, img v1.Image) error {
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	entry := tarball.Descriptor{
		Config: blob(manifest.Config.Digest), RepoTags: []string{strings.TrimPrefix(dockerName(tag), "docker.io/library/")},
	}
	for _, layer := range manifest.Layers {
		entry.Layers = append(entry.Layers, blob(layer.Digest))
	}
	content, err := json.Marshal([]tarball.Descriptor{entry})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), content, 0o644)
}

// dockerName is the full name that containerd and docker give a tag:
// docker.io/library/tare:latest.
func dockerName(tag name.Tag) string {
	registry := tag.RegistryStr()
	if registry == name.DefaultRegistry {
		registry = "docker.io"
	}
	return registry + "/" + tag.RepositoryStr() + ":" + tag.TagStr()
}

// archive writes a directory as a tar archive: sorted, without times.
func archive(out io.Writer, dir string) error {
	w := tar.NewWriter(out)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // in lexical order
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: filepath.ToSlash(name) + "/", Mode: 0o755})
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size()}); err != nil {
			return err
		}
		_, err = io.Copy(w, in)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}
