package serve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"

	"tare/internal/run/machine/owned"
	"tare/internal/text/input"
)

// manifestFile lists the files of a site, so that the next site can replace them.
const manifestFile = "site.json"

// siteSchema names the format of the manifest.
const siteSchema = "tare.site/v1"

type manifest struct {
	Schema string   `json:"schema"`
	Files  []string `json:"files"`
}

// readManifest returns the files of the existing site; none if there is no site.
func readManifest(root *os.Root) ([]string, error) {
	text, err := input.ReadIn(root, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && m.Schema != siteSchema {
		err = fmt.Errorf("schema %q where %s is expected", m.Schema, siteSchema)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m.Files, nil
}

func writeManifest(root *os.Root, files []string) error {
	return writeFile(root, manifestFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(manifest{siteSchema, files})
	})
}

// writeFile writes a file completely or not at all.
func writeFile(root *os.Root, name string, write func(io.Writer) error) error {
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	self, err := owned.This()
	if err != nil {
		return err
	}
	unfinished := fmt.Sprintf("%s/%s%d", path.Dir(name), self.Name("output"), rand.Uint32()) // a name that tare clean recognizes
	f, err := root.Create(unfinished)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(unfinished, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(unfinished))
	}
	return nil
}

// remove removes a file of an earlier site, and the directories that become empty.
func remove(root *os.Root, name string) {
	if about, err := root.Lstat(name); err != nil || about.IsDir() {
		return
	}
	for err := root.Remove(name); err == nil && path.Dir(name) != "."; name = path.Dir(name) {
		err = root.Remove(path.Dir(name)) // fails if the directory is not empty
	}
}
