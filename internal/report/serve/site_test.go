package serve

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/journal"
)

// files are the contents of all files below a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A site has every page that it leads to, and copies that can be verified.
func TestSiteLeads(t *testing.T) {
	dir, to := mixed(t), filepath.Join(t.TempDir(), "public")
	done, err := library(t, dir).Site(t.Context(), to, true, anyPlan)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Skipped) != 1 || done.Skipped[0].Directory != "runs/broken<b>" {
		t.Errorf("skipped: %v", done.Skipped)
	}
	texts := follow(t, func(address string) (string, bool) {
		if strings.HasSuffix(address, "/") {
			address += indexPage
		}
		text, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(address)))
		return string(text), err == nil
	})
	for name := range files(t, to) {
		if path.Base(name) == indexPage {
			name = strings.TrimSuffix(name, indexPage)
		}
		if _, reached := texts[name]; !reached && name != "" && name != manifestFile {
			t.Errorf("no page leads to %s", name)
		}
	}
	if _, _, err := journal.Verify(filepath.Join(to, "runs/deep/recorded")); err == nil || !strings.Contains(err.Error(), "page.html") {
		t.Errorf("the copy, of which one file is not published: %v", err)
	}
	if strings.Contains(strings.Join(slices.Collect(maps.Values(files(t, to))), ""), filepath.Dir(dir)) {
		t.Error("the site tells where the runs lay")
	}
}

// The same runs give the same site, wherever they lie.
func TestSiteIsTheSame(t *testing.T) {
	dir := mixed(t)
	elsewhere := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var sites []map[string]string
	for _, runs := range []string{dir, elsewhere} {
		to := filepath.Join(t.TempDir(), "public")
		if _, err := library(t, runs).Site(t.Context(), to, true, anyPlan); err != nil {
			t.Fatal(err)
		}
		sites = append(sites, files(t, to))
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(sites[0])), slices.Sorted(maps.Keys(sites[1]))); d != "" {
		t.Error(d)
	}
	for name, text := range sites[0] {
		if sites[1][name] != text {
			t.Errorf("%s is another one", name)
		}
	}
}

func TestSiteAgain(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "public")
	nightly(t, dir, 2)
	if err := errors.Join(os.MkdirAll(to, 0o755), os.WriteFile(filepath.Join(to, "CNAME"), []byte("bench.example\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	publish := func() error {
		_, err := library(t, dir).Site(t.Context(), to, false, anyPlan)
		return err
	}
	if err := publish(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "disk-a")), publish()); err != nil {
		t.Fatal(err)
	}
	got := files(t, to)
	if _, err := os.Stat(filepath.Join(to, "runs/disk-a")); !errors.Is(err, fs.ErrNotExist) || got["CNAME"] == "" || got["runs/disk-b/report.html"] == "" {
		t.Errorf("the second site: %v, %v", err, slices.Sorted(maps.Keys(got)))
	}
	if err := os.WriteFile(filepath.Join(to, manifestFile), []byte(`{"schema": "tare.site/v1", "files": ["../secret"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var inTheWay *InTheWay
	if err := publish(); !errors.As(err, &inTheWay) || inTheWay.File != historyPage {
		t.Errorf("files that nobody knows: %v", err)
	}
	for _, within := range []string{filepath.Join(dir, "new", "public"), dir} {
		if _, err := library(t, dir).Site(t.Context(), within, true, anyPlan); !errors.Is(err, ErrWithin) {
			t.Errorf("a site in %s: %v", within, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left something: %v", err)
	}
}

// anyPlan takes every run.
func anyPlan(*journal.Run) error { return nil }
