// Command dist writes what a release consists of into a directory: an archive
// for each architecture, their digests, and the manifest by which krew installs
// the plug-in. The same sources give the same bytes. `make dist` calls it.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/deploy/krew"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run writes the release: dist -version V -releases URL -tare ARCH=FILE... DIR.
// The current directory is the root of the sources.
func run(args []string) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	version := flags.String("version", "", "")
	releases := flags.String("releases", "", "")
	binaries := map[string]string{}
	flags.Func("tare", "", func(value string) error {
		arch, file, ok := strings.Cut(value, "=")
		if !ok {
			return errors.New("not ARCH=FILE")
		}
		binaries[arch] = file
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *releases == "" || len(binaries) == 0 || flags.NArg() != 1 {
		return errors.New("usage: dist -version V -releases URL -tare ARCH=FILE... DIR")
	}
	return write(flags.Arg(0), semanticVersion(*version), *releases, binaries)
}

// semanticVersion makes a semantic version of what git describe says, which is only a
// commit where there is no tag.
func semanticVersion(version string) string {
	if strings.HasPrefix(version, "v") && strings.Count(version, ".") >= 2 {
		return version
	}
	return "v0.0.0-" + version
}

func write(dir, version, releases string, binaries map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sums := map[string]string{}
	var list strings.Builder
	for _, arch := range slices.Sorted(maps.Keys(binaries)) {
		content, err := archive(binaries[arch])
		if err != nil {
			return err
		}
		name := fmt.Sprintf("tare-%s-linux-%s.tar.gz", version, arch)
		sums[arch] = fmt.Sprintf("%x", sha256.Sum256(content))
		fmt.Fprintf(&list, "%s  %s\n", sums[arch], name)
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	template, err := os.ReadFile("deploy/krew/tare.yaml")
	if err != nil {
		return err
	}
	manifest := []byte(krew.Fill(string(template), version, releases, sums))
	if _, err := krew.Check("tare", manifest); err != nil {
		return fmt.Errorf("krew would refuse the manifest: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "tare.yaml"), manifest, 0o644)
}

// archive is what a user unpacks: the program, its licence and completion.
func archive(binary string) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, f := range []struct {
		name, file string
		mode       int64
	}{
		{"LICENSE", "LICENSE", 0o644},
		{"kubectl_complete-tare", "deploy/krew/kubectl_complete-tare", 0o755},
		{"tare", binary, 0o755},
	} {
		content, err := os.ReadFile(f.file)
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
