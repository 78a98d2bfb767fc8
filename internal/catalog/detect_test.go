package catalog_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/catalog"
	"tare/internal/importer"
)

// TestOneFormat checks that only one format finds a result in a file, since otherwise tare import auto could
// not decide which tool wrote the file. It tries every fixture with every format.
func TestOneFormat(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "importer", "*", "testdata", "*"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d fixtures, error %v", len(files), err)
	}
	found := map[string]bool{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() || filepath.Ext(file) == ".golden" || filepath.Base(file) == "README.md" || strings.Contains(file, string(filepath.Separator)+"table"+string(filepath.Separator)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var readers []string
		for _, f := range catalog.Formats {
			if trials, err := f.Read(importer.File{Name: file, Reader: bytes.NewReader(text), Size: int64(len(text))}); err == nil && len(trials) > 0 {
				readers = append(readers, f.Name)
				found[f.Name] = true
			}
		}
		if len(readers) > 1 {
			t.Errorf("%s is read by %s", file, strings.Join(readers, ", "))
		}
	}
	for _, f := range catalog.Formats {
		if !found[f.Name] {
			t.Errorf("no fixture is read by %s", f.Name)
		}
	}
}
