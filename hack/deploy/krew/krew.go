// Package krew checks and fills the manifest by which krew, the manager of
// kubectl's plug-ins, installs Tare.
package krew

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// Manifest is a plug-in in krew's words (krew.googlecontainertools.github.com/v1alpha2).
type Manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Version          string     `yaml:"version"`
		Homepage         string     `yaml:"homepage"`
		ShortDescription string     `yaml:"shortDescription"`
		Description      string     `yaml:"description"`
		Caveats          string     `yaml:"caveats"`
		Platforms        []Platform `yaml:"platforms"`
	} `yaml:"spec"`
}

// Platform is an archive for some systems.
type Platform struct {
	URI      string `yaml:"uri"`
	SHA256   string `yaml:"sha256"`
	Bin      string `yaml:"bin"` // path of the program in the archive
	Selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	} `yaml:"selector"`
}

// Fill writes a version, the address below which the archives will be, and the
// archives' digests by platform into a manifest that has placeholders.
func Fill(manifest, version, releases string, sums map[string]string) string {
	pairs := []string{"VERSION", version, "RELEASES", strings.TrimSuffix(releases, "/")}
	for platform, sum := range sums {
		pairs = append(pairs, "SHA256-"+platform, sum)
	}
	return strings.NewReplacer(pairs...).Replace(manifest)
}

var (
	safeName = regexp.MustCompile(`^[\w-]+$`)
	semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z.-]+)?$`)
	digest   = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// Check reads a manifest and reports everything that krew, or the tests of its
// index of plug-ins, refuses in it.
func Check(name string, manifest []byte) (Manifest, error) {
	var m Manifest
	if err := yaml.UnmarshalWithOptions(manifest, &m, yaml.Strict()); err != nil {
		return m, err
	}
	var problems found
	require := problems.unless
	require(m.APIVersion == "krew.googlecontainertools.github.com/v1alpha2", "apiVersion is %q", m.APIVersion)
	require(m.Kind == "Plugin", "kind is %q", m.Kind)
	require(safeName.MatchString(name) && m.Metadata.Name == name, "the plug-in is called %q, not %q", m.Metadata.Name, name)
	require(semantic.MatchString(m.Spec.Version), "version %q is not a semantic version with a v", m.Spec.Version)
	require(m.Spec.ShortDescription != "" && !strings.ContainsAny(m.Spec.ShortDescription, "\r\n"), "shortDescription is not one line")
	for field, text := range map[string]string{"description": m.Spec.Description, "caveats": m.Spec.Caveats} {
		for line := range strings.Lines(text) {
			require(len(strings.TrimRight(line, "\n")) <= 80, "a line of %s has more than 80 characters: %s", field, line)
		}
	}
	require(len(m.Spec.ShortDescription) <= 70, "shortDescription has more than 70 characters")
	require(len(m.Spec.Platforms) > 0, "there is no platform")
	seen := map[string]bool{}
	for i, p := range m.Spec.Platforms {
		for _, err := range p.problems() {
			problems = append(problems, fmt.Errorf("platforms[%d]: %w", i, err))
		}
		system := p.Selector.MatchLabels["os"] + "/" + p.Selector.MatchLabels["arch"]
		require(!seen[system], "platforms[%d]: %s is there twice", i, system)
		seen[system] = true
	}
	return m, errors.Join(problems...)
}

// found are the problems of a manifest.
type found []error

func (f *found) unless(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

func (p Platform) problems() (problems found) {
	require := problems.unless
	u, err := url.Parse(p.URI)
	require(err == nil && u.Scheme == "https" && u.Host != "", "uri %q is not an address of https", p.URI)
	require(strings.HasSuffix(p.URI, ".tar.gz") || strings.HasSuffix(p.URI, ".zip"), "uri %q is not that of a .tar.gz or .zip", p.URI)
	require(digest.MatchString(p.SHA256), "sha256 %q is not 64 hexadecimal digits", p.SHA256)
	require(p.Bin != "" && !path.IsAbs(p.Bin) && path.Clean(p.Bin) == p.Bin && !strings.HasPrefix(p.Bin, ".."), "bin %q is not a path in the archive", p.Bin)
	labels := p.Selector.MatchLabels
	require(len(labels) == 2 && labels["os"] != "" && labels["arch"] != "", "the selector %v does not have os and arch, and nothing else", labels)
	return problems
}
