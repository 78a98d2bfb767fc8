package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/hack/image/debian"
)

// newTestBuilder builds from the packages that are pinned; where they are not
// kept from an earlier build and there is no network, the test is skipped.
func newTestBuilder(t *testing.T) *builder {
	t.Helper()
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	var log bytes.Buffer
	b, err := newBuilder(&log)
	if err != nil {
		t.Fatal(err)
	}
	b.cache = t.TempDir()
	b.newer = true // these tests are about what is done with packages
	t.Cleanup(func() { t.Logf("log:\n%s", log.String()) })
	if kept, err := filepath.Glob(filepath.Join(b.store.dir, "*.deb")); err != nil || len(kept) == 0 {
		conn, err := net.DialTimeout("tcp", "deb.debian.org:80", 10*time.Second)
		if err != nil {
			t.Skipf("no packages are kept (make image keeps them), and Debian cannot be reached: %v", err)
		}
		conn.Close()
	}
	return b
}

// compiled is a small static program for an architecture in place of each of
// Tare's.
func compiled(t *testing.T, arch string) binaries {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"tare stands here\") }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range own {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", filepath.Join(dir, name), source)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	return binaries{arch: arch, dir: dir}
}

func TestImage(t *testing.T) {
	b := newTestBuilder(t)
	b.version, b.revision = "v1.2.3", "abc"
	for _, arch := range architectures {
		b.binaries = append(b.binaries, compiled(t, arch))
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	var out bytes.Buffer
	if err := b.archive(t.Context(), file, &out); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", out.Bytes())
	lines := regexp.MustCompile(`^\S+: tare:latest, sha256:[0-9a-f]{64}
  linux/(amd64|arm64) +sha256:[0-9a-f]{64}  [0-9.]+ MB, [0-9.]+ MB unpacked
  linux/(amd64|arm64) +sha256:[0-9a-f]{64}  [0-9.]+ MB, [0-9.]+ MB unpacked
$`)
	if !lines.Match(out.Bytes()) {
		t.Errorf("it says %s", out.String())
	}
	var again bytes.Buffer
	if err := b.archive(t.Context(), file, &again); err != nil || again.String() != out.String() {
		t.Errorf("the second build says %s, %v; the first %s", again.String(), err, out.String())
	}

	img, err := tarball.ImageFromPath(file, nil) // for this machine
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		User: "65532:65532", Entrypoint: []string{"/usr/bin/tare"}, WorkingDir: "/",
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "tare",
			"org.opencontainers.image.description": "Measures what a security layer costs the workload inside it",
			"org.opencontainers.image.version":     "v1.2.3",
			"org.opencontainers.image.revision":    "abc",
		},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error(diff)
	}

	b.binaries = slices.DeleteFunc(b.binaries, func(one binaries) bool { return one.arch != runtime.GOARCH })
	root := filepath.Join(t.TempDir(), "rootfs")
	if err := b.rootfs(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entries(t, mutate.Extract(img)), below(t, root)); diff != "" {
		t.Errorf("the command rootfs, from which the Dockerfile copies, writes other files (-archive +rootfs):\n%s", diff)
	}
	runInside(t, root)
	everyLicence(t, root)
}

// entries describes the files of a tar archive; below those of a directory.
func entries(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	got := map[string]string{}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Join("/", h.Name)] = describe(h.FileInfo().Mode(), h.Linkname, content)
	}
}

func below(t *testing.T, root string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var target string
		var content []byte
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err = os.Readlink(path)
		case info.Mode().IsRegular():
			content, err = os.ReadFile(path)
		}
		got[strings.TrimPrefix(path, root)] = describe(info.Mode(), target, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func describe(mode fs.FileMode, target string, content []byte) string {
	if target != "" {
		return "link to " + target
	}
	return fmt.Sprintf("%v %x", mode, sha256.Sum256(content))
}

// runInside runs the programs with nothing but the image's files, as its user.
func runInside(t *testing.T, root string) {
	if os.Geteuid() != 0 {
		t.Log("not root: the programs of the image are not run")
		return
	}
	for dir := root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // the image's user must come here
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"/usr/bin/tare"}, "tare stands here"},
		{[]string{"/usr/bin/tare-agent"}, "tare stands here"},
		{[]string{"/usr/bin/iperf3", "--version"}, "iperf 3."},
		{[]string{"/usr/bin/fio", "--version"}, "fio-3."},
		{[]string{"/bin/sh", "-c", "id -un; pwd; ls -d /tmp"}, "tare\n/\n/tmp\n"},
	} {
		cmd := exec.Command(test.args[0], test.args[1:]...)
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=" + searchPath}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), test.want) {
			t.Errorf("%v: %v: %s, want %q", test.args, err, out, test.want)
		}
	}
	for _, applet := range applets {
		cmd := exec.Command("/usr/bin/"+applet, "--help")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "applet not found") {
			t.Errorf("busybox has no %s: %s", applet, out)
		}
	}
}

// everyLicence checks that each package has its copyright, and that each common
// licence that those refer to is there.
func everyLicence(t *testing.T, root string) {
	records, err := filepath.Glob(filepath.Join(root, "var/lib/dpkg/status.d/*"))
	if err != nil || len(records) < 20 {
		t.Fatalf("%d packages are recorded, %v", len(records), err)
	}
	reference := regexp.MustCompile(`/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]`)
	for _, record := range records {
		file := filepath.Join(root, "usr/share/doc", filepath.Base(record), "copyright")
		content, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		for _, licence := range reference.FindAllString(string(content), -1) {
			if _, err := os.Stat(filepath.Join(root, licence)); err != nil {
				t.Errorf("%s refers to %s: %v", file, licence, err)
			}
		}
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(records, func(r string) bool { return filepath.Base(r) == name }) {
			t.Errorf("%s is not recorded", name)
		}
	}
}

// TestLockNamesWanted checks the lock without a network.
func TestLockNamesWanted(t *testing.T) {
	f, err := os.Open("packages.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := debian.ReadLock(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range architectures {
		packages := debian.For(all, arch)
		for _, name := range slices.Concat(wanted, systemPackages) {
			if !slices.ContainsFunc(packages, func(p debian.Package) bool { return p.Name == name }) {
				t.Errorf("%s is not pinned for %s: make image-lock", name, arch)
			}
		}
	}
}

func TestForeignProgramsAreRefused(t *testing.T) {
	arm := compiled(t, "arm64")
	if got, err := arm.tree(); err != nil || len(got["/usr/bin/tare"].Content) == 0 || len(got["/usr/bin/tare-agent"].Content) == 0 {
		t.Errorf("arm64: %v", err)
	}
	if _, err := (binaries{arch: "amd64", dir: arm.dir}).tree(); err == nil || !strings.HasSuffix(err.Error(), "/tare: a program for EM_AARCH64, not for amd64") {
		t.Errorf("arm64 for amd64: %v", err)
	}
	if err := static([]byte("MZ, a program for another system"), "amd64"); err == nil || !strings.HasPrefix(err.Error(), "not a program for Linux: ") {
		t.Errorf("another system's: %v", err)
	}
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	if err := static(shell, runtime.GOARCH); err == nil || err.Error() != "it is linked dynamically: build it with CGO_ENABLED=0" {
		t.Errorf("the shell: %v", err)
	}
}

func TestRunUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"nothing"}, {"build", "x.tar"}, {"build", "-tare", "amd64", "x.tar"}, {"rootfs", "dir"},
		{"rootfs", "-tare", "amd64=a", "-tare", "arm64=b", "dir"}, {"lock", "more"}, {"build", "-tare", "=x", "x.tar"},
		{"rootfs", "-tare", "amd64=a", "-system", "x", "dir"}, {"build", "-tare", "amd64=a", "-tare", "arm64=b", "-system", "x", "x.tar"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
}

// TestNewer builds where the mirror has given up what is pinned.
func TestNewer(t *testing.T) {
	b := newTestBuilder(t)
	old := debian.Package{Arch: runtime.GOARCH, Name: "fio", Version: "1.0-1", SHA256: strings.Repeat("0", 64)}
	var lock bytes.Buffer
	if err := debian.WriteLock(&lock, "", []debian.Package{old}); err != nil {
		t.Fatal(err)
	}
	b.lock = filepath.Join(t.TempDir(), "packages.lock")
	if err := os.WriteFile(b.lock, lock.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	b.newer = false
	if _, err := b.packages(t.Context(), runtime.GOARCH); err == nil || err.Error() !=
		"Debian's mirror no longer has these versions: [fio=1.0-1]\nmake image-lock pins the newest; -newer takes them this once" {
		skipOffline(t, err)
		t.Errorf("got %v", err)
	}
	b.newer = true
	debs, err := b.packages(t.Context(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := packagesTree(debs, runtime.GOARCH); err != nil {
		t.Error(err)
	}
	if log := b.log.(*bytes.Buffer).String(); !strings.Contains(log, "the newest packages are taken for "+runtime.GOARCH) {
		t.Errorf("it says %q", log)
	}
	if _, err := b.packages(t.Context(), "riscv64"); err == nil || !strings.HasSuffix(err.Error(), "pins no packages for riscv64, only for [amd64 arm64]") {
		t.Errorf("got %v", err)
	}
}

func skipOffline(t *testing.T, err error) {
	if err != nil && strings.Contains(err.Error(), "apt-get update") {
		t.Skipf("Debian cannot be reached: %v", err)
	}
}

// TestStoreChecks holds a package that was kept to its digest.
func TestStoreChecks(t *testing.T) {
	b := newTestBuilder(t)
	debs, err := b.packages(t.Context(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	s := store{dir: t.TempDir(), log: io.Discard}
	p := debs[0].Package
	if err := s.keep(b.store.file(p), p); err != nil {
		t.Fatal(err)
	}
	if _, err := s.fetch(t.Context(), []debian.Package{p}); err != nil {
		t.Error(err)
	}
	wrong := p
	wrong.SHA256 = p.SHA256[:63] + "x" // the same file name
	if _, err := s.fetch(t.Context(), []debian.Package{wrong}); err == nil || !strings.Contains(err.Error(), "; remove it") {
		t.Errorf("another digest: %v", err)
	}
}

func TestForget(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"b", "a", "d", "c", "e"} {
		file := filepath.Join(dir, name+".tar.gz")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := forget(filepath.Join(dir, "*.tar.gz")); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, "c.tar.gz"), filepath.Join(dir, "d.tar.gz"), filepath.Join(dir, "e.tar.gz")}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %v, %v; want %v", left, err, want)
	}
}
