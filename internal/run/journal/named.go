package journal

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"tare/internal/experiment"
)

// namedDir holds copies of the files that the experiment names, such as manifests, made when the run began.
const namedDir = "files"

// copyPath returns the path of the copy of a file that the experiment calls name. The name is escaped as in
// a URL: policies%2Fdeny.yaml.
func copyPath(name string) string { return filepath.Join(namedDir, url.PathEscape(name)) }

func writeNamedFiles(root *os.Root, files map[string][]byte, write func(name string, text []byte) error) error {
	if len(files) == 0 {
		return nil
	}
	if err := root.Mkdir(namedDir, 0o777); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(filepath.ToSlash(copyPath(name)), files[name]); err != nil {
			return err
		}
	}
	return syncDir(root, namedDir)
}

// ReadNamed returns a function that reads the copies of files that the run's experiment names.
func ReadNamed(dir string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		about, err := root.Stat(copyPath(name))
		if err != nil {
			return nil, err
		}
		if !about.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", copyPath(name))
		}
		f, err := root.Open(copyPath(name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, experiment.MaxFile+1))
		if err == nil && len(data) > experiment.MaxFile {
			err = fmt.Errorf("%s has more than %d KiB", copyPath(name), experiment.MaxFile>>10)
		}
		return data, err
	}
}
