// Command image builds Tare's container image, for several platforms, without
// a daemon and without a registry: packages of Debian that packages.lock pins,
// and Tare's own programs on top. docs/cluster.md tells how to use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"tare/hack/image/debian"
)

const usage = `usage: image COMMAND

  build -tare ARCH=DIR... [-version V] [-revision R] [-newer] ARCHIVE
             write an OCI archive with the image for each architecture
  build -tare ARCH=DIR -system FILE... [-version V] [-revision R] [-newer] ARCHIVE
             write one of tare-systems, which has systems under test as well
  rootfs -tare ARCH=DIR [-newer] DIRECTORY
             write the files of the image below a directory that does not exist
  lock       pin the newest packages for amd64 and arm64 in packages.lock

  -tare      a directory with tare and tare-agent for the architecture
  -system    a program under test for the architecture; where there is none, the
             image is without it, and that is said
  -newer     where Debian no longer has a pinned version, say so and take the newest
`

// architectures that are pinned.
var architectures = []string{"amd64", "arm64"}

var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	b, err := newBuilder(stderr)
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&b.newer, "newer", false, "")
	flags.StringVar(&b.version, "version", "devel", "")
	flags.StringVar(&b.revision, "revision", "", "")
	flags.Func("tare", "", b.addBinaries)
	flags.Func("system", "", func(file string) error { b.systems = append(b.systems, file); return nil })
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	switch {
	case len(b.systems) > 0 && (args[0] != "build" || len(b.binaries) != 1):
		return errUsage
	case args[0] == "build" && flags.NArg() == 1 && len(b.binaries) > 0:
		return b.archive(ctx, flags.Arg(0), stdout)
	case args[0] == "rootfs" && flags.NArg() == 1 && len(b.binaries) == 1:
		return b.rootfs(ctx, flags.Arg(0))
	case args[0] == "lock" && flags.NArg() == 0:
		return b.pin(ctx)
	}
	return errUsage
}

// newBuilder finds the lock beside this program's sources and the cache.
func newBuilder(log io.Writer) (*builder, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	_, source, _, _ := runtime.Caller(0)
	return &builder{
		lock:  filepath.Join(filepath.Dir(source), "packages.lock"),
		cache: cache,
		store: store{dir: filepath.Join(cache, "packages"), sources: debian.Bookworm, log: log},
		log:   log,
	}, nil
}

// cacheDir is $TARE_CACHE/image, by default ~/.cache/tare/image.
func cacheDir() (string, error) {
	dir := os.Getenv("TARE_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for packages (set TARE_CACHE): %w", err)
		}
		dir = filepath.Join(user, "tare")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "image"))
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// addBinaries takes ARCH=DIR.
func (b *builder) addBinaries(value string) error {
	arch, dir, ok := strings.Cut(value, "=")
	if !ok || arch == "" || dir == "" {
		return fmt.Errorf("%q is not ARCH=DIR", value)
	}
	b.binaries = append(b.binaries, binaries{arch: arch, dir: dir})
	return nil
}
