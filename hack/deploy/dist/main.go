// Command dist writes what a release consists of into a directory: an archive for
// each platform, a Debian package for those of Linux, their digests, and the manifest by
// which krew installs the plug-in. The same sources give the same bytes, dated by
// SOURCE_DATE_EPOCH. `make dist` calls it.
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

	"tare/hack/deploy/krew"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run writes the release: dist -version V -releases URL -man DIR -tare SYSTEM-ARCH=FILE... DIR.
// The current directory is the root of the sources.
func run(args []string) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	version := flags.String("version", "", "")
	var r release
	flags.StringVar(&r.releases, "releases", "", "")
	flags.StringVar(&r.man, "man", "", "")
	flags.StringVar(&r.maintainer, "maintainer", "", "")
	r.binaries = map[string]string{}
	flags.Func("tare", "", func(value string) error {
		platform, file, ok := strings.Cut(value, "=")
		if !ok || !strings.Contains(platform, "-") {
			return errors.New("not SYSTEM-ARCH=FILE")
		}
		r.binaries[platform] = file
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || r.releases == "" || r.man == "" || r.maintainer == "" || len(r.binaries) == 0 || flags.NArg() != 1 {
		return errors.New("usage: dist -version V -releases URL -man DIR -maintainer 'NAME <ADDRESS>' -tare SYSTEM-ARCH=FILE... DIR")
	}
	if os.Getenv("SOURCE_DATE_EPOCH") == "" {
		return errors.New("SOURCE_DATE_EPOCH is not set: the date of the sources, in seconds")
	}
	r.version = semanticVersion(*version)
	return r.write(flags.Arg(0))
}

// release is what a release is made of.
type release struct {
	version, releases, maintainer string
	man                           string            // directory of the manual pages
	binaries                      map[string]string // by platform: "linux-amd64"
}

// semanticVersion makes a semantic version of what git describe says, which is only a
// commit where there is no tag.
func semanticVersion(version string) string {
	if strings.HasPrefix(version, "v") && strings.Count(version, ".") >= 2 {
		return version
	}
	return "v0.0.0-" + version
}

// write writes the release to a directory.
func (r release) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sums := map[string]string{} // of archives
	var list strings.Builder
	add := func(name string) (sum string, err error) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		sum = fmt.Sprintf("%x", sha256.Sum256(content))
		fmt.Fprintf(&list, "%s  %s\n", sum, name)
		return sum, err
	}
	for _, platform := range slices.Sorted(maps.Keys(r.binaries)) {
		system, arch, _ := strings.Cut(platform, "-")
		content, err := archive(r.binaries[platform], system)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("tare-%s-%s.tar.gz", r.version, platform)
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
		if sums[platform], err = add(name); err != nil {
			return err
		}
		if system != "linux" {
			continue
		}
		d := deb{version: r.version, arch: arch, maintainer: r.maintainer, binary: r.binaries[platform], man: r.man}
		name = fmt.Sprintf("tare_%s_%s.deb", debianVersion(r.version), arch)
		if err := d.write(filepath.Join(dir, name)); err != nil {
			return err
		}
		if _, err := add(name); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(list.String()), 0o644); err != nil {
		return err
	}
	template, err := os.ReadFile("hack/deploy/krew/tare.yaml")
	if err != nil {
		return err
	}
	manifest := []byte(krew.Fill(string(template), r.version, r.releases, sums))
	if _, err := krew.Check("tare", manifest); err != nil {
		return fmt.Errorf("krew would refuse the manifest: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "tare.yaml"), manifest, 0o644)
}

// archive is what a user unpacks: the program, its licence and completion.
func archive(binary, system string) ([]byte, error) {
	program := "tare"
	if system == "windows" {
		program = "tare.exe"
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, f := range []struct {
		name, file string
		mode       int64
	}{
		{"LICENSE", "LICENSE", 0o644},
		{"kubectl_complete-tare", "hack/deploy/krew/kubectl_complete-tare", 0o755},
		{program, binary, 0o755},
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
