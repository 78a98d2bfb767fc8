// Package build compiles the programs that a test cluster runs from their
// sources in the nested modules, and keeps them outside the work tree under a
// hash of what went into them: a second cluster starts without compiling, and a
// change of a version or of a line makes a new program.
package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Program is one program to compile.
type Program struct {
	Name    string // of the program
	Dir     string // of the Go module that pins its sources
	Package string // within that module
	Flags   []string
	// Note says what to expect when it has to be compiled.
	Note string
}

// Cache is a directory of compiled programs and images: $TARE_CACHE if set, or
// else tare in the user's cache directory.
func Cache() (string, error) {
	dir := os.Getenv("TARE_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for compiled programs (set TARE_CACHE): %w", err)
		}
		dir = filepath.Join(user, "tare")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "cluster"))
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// Programs compiles those that are not in the cache and returns the directory
// that holds them all under their names, for use as a PATH.
func Programs(ctx context.Context, cache string, log io.Writer, programs ...Program) (string, error) {
	unlock, err := lock(ctx, cache, log)
	if err != nil {
		return "", err
	}
	defer unlock()
	all := sha256.New()
	var keys []string
	for _, p := range programs {
		key, err := p.key(ctx)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.Name, err)
		}
		keys = append(keys, key)
		fmt.Fprintln(all, p.Name, key)
		if err := p.compile(ctx, filepath.Join(cache, p.Name+"-"+key), log); err != nil {
			return "", err
		}
	}
	bin := filepath.Join(cache, "bin-"+hex.EncodeToString(all.Sum(nil))[:16])
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	for i, p := range programs {
		name := filepath.Join(bin, p.Name)
		if err := os.Symlink(filepath.Join(cache, p.Name+"-"+keys[i]), name); err != nil && !os.IsExist(err) {
			return "", err
		}
	}
	return bin, nil
}

// Missing names those programs that are not in the cache.
func Missing(ctx context.Context, cache string, programs ...Program) ([]string, error) {
	var missing []string
	for _, p := range programs {
		key, err := p.key(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		switch _, err := os.Stat(filepath.Join(cache, p.Name+"-"+key)); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, p.Name)
		case err != nil:
			return nil, err
		}
	}
	return missing, nil
}

// ModuleDir is where the sources of a module are that the program is made from.
func (p Program) ModuleDir(ctx context.Context, module string) (string, error) {
	if out, err := p.command(ctx, "mod", "download", module).CombinedOutput(); err != nil {
		return "", fmt.Errorf("download %s: %w: %s", module, err, bytes.TrimSpace(out))
	}
	dir, err := p.command(ctx, "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of %s: %w", module, err)
	}
	return string(bytes.TrimSpace(dir)), nil
}

// key is a hash of the module's files, the compiler's version and the flags.
func (p Program) key(ctx context.Context) (string, error) {
	version, err := p.command(ctx, "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOVERSION: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s %q\n", version, runtime.GOARCH, p.Package, p.Flags)
	err = filepath.WalkDir(p.Dir, func(path string, d fs.DirEntry, err error) error { // in lexical order
		if err != nil || d.IsDir() {
			return err
		}
		name := d.Name()
		if name != "go.mod" && name != "go.sum" && (filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go")) {
			return nil
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s\n", strings.TrimPrefix(path, p.Dir), len(content), content)
		return err
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// compile writes the program to path, unless it is there. It is renamed into
// place when complete, so that a killed build leaves no half program.
func (p Program) compile(ctx context.Context, path string, log io.Writer) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	fmt.Fprintf(log, "compiling %s, once%s\n", p.Name, p.Note)
	start := time.Now()
	partial := path + ".partial"
	defer os.Remove(partial)
	args := append([]string{"build", "-trimpath", "-o", partial}, p.Flags...)
	cmd := p.command(ctx, append(args, p.Package)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: cd %s && %s: %w\n%s", p.Name, p.Dir, strings.Join(cmd.Args, " "), err, bytes.TrimSpace(out))
	}
	fmt.Fprintf(log, "compiled %s in %s\n", p.Name, time.Since(start).Round(time.Second))
	return os.Rename(partial, path)
}

// command is the go command in the program's own module, untouched by flags and
// workspaces of the one who calls.
func (p Program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	return cmd
}

// lock keeps a second cluster that starts at the same time from compiling the
// same program again.
func lock(ctx context.Context, cache string, log io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !told {
			fmt.Fprintf(log, "waiting for another build to end (it holds %s)\n", f.Name())
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for the lock on %s: %w", f.Name(), ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
