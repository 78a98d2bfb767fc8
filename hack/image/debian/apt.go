package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bookworm is where Debian 12 comes from, in the words of sources.list.
const Bookworm = `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm-updates main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security bookworm-security main
`

// limit of one call of apt-get; it gives up on a silent mirror by itself after a
// few minutes.
const limit = 10 * time.Minute

// Apt asks apt about one architecture.
type Apt struct {
	arch string
	dir  string
	log  io.Writer
}

// Open reads what the sources offer for an architecture now. Close removes what
// it needed for that.
func Open(ctx context.Context, sources, arch string, log io.Writer) (*Apt, error) {
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("packages are fetched by apt: %w (on a system that is not Debian's, build hack/image/Dockerfile instead)", err)
		}
	}
	dir, err := os.MkdirTemp("", "tare-apt-")
	if err != nil {
		return nil, err
	}
	a := &Apt{arch: arch, dir: dir, log: log}
	if err := a.open(ctx, sources); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close removes the lists.
func (a *Apt) Close() error { return os.RemoveAll(a.dir) }

func (a *Apt) open(ctx context.Context, sources string) error {
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(a.dir, sub), 0o755); err != nil {
			return err
		}
	}
	proxy, err := network(ctx)
	if err != nil {
		return err
	}
	files := map[string]string{"sources.list": sources, "status": "", "apt.conf": a.configuration() + proxy}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.log, "reading the list of Debian's packages for %s\n", a.arch)
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return fmt.Errorf("list of packages for %s: %w", a.arch, err)
	}
	return nil
}

// configuration has nothing of the machine's: an empty system of the wanted
// architecture, on which no package is installed.
func (a *Apt) configuration() string {
	at := func(name string) string { return filepath.Join(a.dir, name) }
	return strings.NewReplacer(
		"ARCH", a.arch, "SOURCES", at("sources.list"), "STATE", at("state"), "STATUS", at("status"), "CACHE", at("cache"),
	).Replace(`APT::Architecture "ARCH";
APT::Architectures "ARCH";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::sourcelist "SOURCES";
Dir::State "STATE";
Dir::State::status "STATUS";
Dir::Cache "CACHE";
`)
}

// network is the machine's own configuration of proxies and certificates.
func network(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-config", "dump", "Acquire").Output()
	if err != nil {
		return "", fmt.Errorf("apt-config: %w", err)
	}
	var lines strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Acquire::http::") || strings.HasPrefix(line, "Acquire::https::") {
			lines.WriteString(line)
		}
	}
	return lines.String(), nil
}

// Newest downloads the newest version of packages and of all that they depend
// on, and returns the files.
func (a *Apt) Newest(ctx context.Context, names []string) ([]string, error) {
	args := append([]string{"install", "--no-install-recommends", "--download-only", "--yes", "--quiet"}, names...)
	if _, err := a.run(ctx, "apt-get", args...); err != nil {
		return nil, fmt.Errorf("download %s for %s: %w", strings.Join(names, " "), a.arch, err)
	}
	return filepath.Glob(filepath.Join(a.dir, "cache/archives/*.deb"))
}

// GoneError names packages that the mirror has in other versions only.
type GoneError struct{ Packages []Package }

// Error says which.
func (e *GoneError) Error() string {
	return fmt.Sprintf("Debian's mirror no longer has these versions: %v", e.Packages)
}

// Pinned downloads packages in the versions that are pinned. The files' digests
// are the caller's to check.
func (a *Apt) Pinned(ctx context.Context, packages []Package) ([]string, error) {
	var names, pins []string
	for _, p := range packages {
		names, pins = append(names, p.Name), append(pins, p.String())
	}
	out, err := a.run(ctx, "apt-cache", append([]string{"madison"}, names...)...)
	if err != nil {
		return nil, err
	}
	offered := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		// " libc6 | 2.36-9+deb12u14 | http://deb.debian.org/debian bookworm/main arm64 Packages"
		if columns := strings.Split(line, "|"); len(columns) == 3 {
			offered[strings.TrimSpace(columns[0])+"="+strings.TrimSpace(columns[1])] = true
		}
	}
	gone := slices.DeleteFunc(slices.Clone(packages), func(p Package) bool { return offered[p.String()] })
	if len(gone) > 0 {
		return nil, &GoneError{gone}
	}
	if _, err := a.run(ctx, "apt-get", append([]string{"download", "--quiet"}, pins...)...); err != nil {
		return nil, fmt.Errorf("download packages for %s: %w", a.arch, err)
	}
	return filepath.Glob(filepath.Join(a.dir, "debs/*.deb"))
}

// run runs a program of apt's with its own configuration in the directory debs.
func (a *Apt) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(a.dir, "debs")
	cmd.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(a.dir, "apt.conf"), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
