package build

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPrograms compiles a program once for the same sources, again for changed
// ones, and keeps nothing of sources that do not compile.
func TestPrograms(t *testing.T) {
	src, cache := t.TempDir(), t.TempDir()
	write := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(src, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := Program{Name: "hello", Dir: src, Package: ".", Note: " (at once)"}
	compile := func() (out, log string, err error) {
		t.Helper()
		var progress bytes.Buffer
		bin, err := Programs(t.Context(), cache, &progress, program)
		if err != nil {
			return "", progress.String(), err
		}
		said, err := exec.Command(filepath.Join(bin, "hello")).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		return string(said), progress.String(), nil
	}
	write("go.mod", "module hello\n\ngo 1.26\n")
	missing := func(want ...string) {
		t.Helper()
		if got, err := Missing(t.Context(), cache, program); err != nil || !slices.Equal(got, want) {
			t.Errorf("missing: %q, %v; want %q", got, err, want)
		}
	}
	missing("hello")
	for _, step := range []struct {
		source, says, logs string
	}{
		{`package main; func main() { print("one") }`, "one", "compiling hello, once (at once)\n"},
		{`package main; func main() { print("one") }`, "one", ""},
		{`package main; func main() { print("two") }`, "two", "compiling hello, once (at once)\n"},
		{`package main; func main() { print("one") }`, "one", ""},
	} {
		write("main.go", step.source)
		out, log, err := compile()
		if err != nil || out != step.says || !strings.HasPrefix(log, step.logs) || (step.logs == "") != (log == "") {
			t.Errorf("%s: says %q, logs %q, %v; want %q and %q", step.source, out, log, err, step.says, step.logs)
		}
	}
	missing()
	write("main.go", "package main; func main() { nonsense }")
	missing("hello")
	if _, _, err := compile(); err == nil || !strings.Contains(err.Error(), "undefined: nonsense") || !strings.Contains(err.Error(), "cd "+src) {
		t.Errorf("sources that do not compile: %v", err)
	}
	if partial, err := filepath.Glob(filepath.Join(cache, "*.partial")); err != nil || len(partial) > 0 {
		t.Errorf("left in the cache: %q, %v", partial, err)
	}
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TARE_CACHE", dir)
	if got, err := Cache(); err != nil || got != filepath.Join(dir, "cluster") {
		t.Errorf("got %s, %v", got, err)
	}
}
