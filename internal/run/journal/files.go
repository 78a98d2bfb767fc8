package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
)

// openFile opens a regular file of at most max bytes for reading.
func openFile(root *os.Root, name string, max int64) (*os.File, error) {
	// Stat comes before Open, because opening a pipe in place of a file would block the reader.
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	if info.Size() > max {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), max)
	}
	return root.Open(name)
}

func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := openFile(root, name, maxLine)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxLine))
}

// readJSON reads a JSON document with a schema. A number whose type is not known becomes a json.Number, which keeps all
// digits.
func readJSON(root *os.Root, name, schema string, into any) error {
	data, err := readFile(root, name)
	if err != nil {
		return err
	}
	return decode(data, name, schema, into)
}

// decode checks the schema of a JSON document and decodes it. where, such as a file's name, begins every error. A
// document that JSON parsers may read differently is damaged.
func decode(data []byte, where, schema string, into any) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if err := checkSchema(head.Schema, schema); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if err := strict(data); err != nil {
		return &DamageError{Where: where, What: err.Error()}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// errNewer is the error for a document that only a newer Tare can read.
var errNewer = errors.New("written by a newer Tare")

// checkSchema compares a document's schema, such as "tare.plan/v1", with the newest one that this program reads. Older
// versions are accepted.
func checkSchema(got, want string) error {
	if got == want {
		return nil
	}
	if got == "" {
		return fmt.Errorf("names no schema where %s is expected", want)
	}
	base, version := splitSchema(got)
	wantBase, wantVersion := splitSchema(want)
	switch {
	case base == wantBase && version > wantVersion:
		return fmt.Errorf("%w: %s, where this one reads up to %s: update Tare", errNewer, got, want)
	case base == wantBase && version > 0:
		return nil
	}
	return fmt.Errorf("schema %q where %s is expected", got, want)
}

func splitSchema(s string) (base string, version int) {
	base, v, _ := strings.Cut(s, "/v")
	version, _ = strconv.Atoi(v)
	return base, version
}

func jsonText(name string, v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) >= maxLine {
		return nil, fmt.Errorf("%s would be larger than %d bytes", name, maxLine)
	}
	return append(data, '\n'), nil
}

// writeFile writes a file under a temporary name, makes it durable and renames it. Under its own name, the file is thus
// always complete.
func writeFile(root *os.Root, name string, data []byte) error {
	temporary := name + ".new"
	f, err := root.Create(temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return syncDir(root, ".")
}

// syncDir makes the entries of a directory below root durable.
func syncDir(root *os.Root, name string) error { return syncOpened(root.Open(name)) }

// SyncDir makes the entries of a directory durable, such as the new name of a renamed file.
func SyncDir(dir string) error { return syncOpened(os.Open(dir)) }

func syncOpened(d *os.File, err error) error {
	if err != nil {
		return err
	}
	return syncClose(d)
}

// namedDir holds copies of the files that the experiment names, such as manifests, made when the run began.
const namedDir = "files"

// copyPath returns the path of the copy of a named file. It escapes the name as in a URL: policies%2Fdeny.yaml.
func copyPath(name string) string { return filepath.Join(namedDir, url.PathEscape(name)) }

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

// maxDepth is the deepest nesting of JSON that is read. Tare's own documents have about ten levels. Ten thousand levels
// would use up all memory in printing.
const maxDepth = 64

// object is a JSON object or list whose end the scan has not reached.
type object struct {
	list  bool
	names [][]byte        // the first names of the object, at most smallObject
	many  map[string]bool // all names, if the object has more than smallObject of them; nil: names holds them all
}

// smallObject is the largest number of names in a JSON object that are compared one by one. An object with more names
// gets a map.
const smallObject = 32

// strict returns an error if an object has two members of one name, which parsers read differently, or if the document
// is nested too deeply. In the outermost object, names that differ only in case are equal.
func strict(document []byte) error {
	var path []object
	name := false // true: the next string in the document is the name of a member
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '{', '[':
			list := document[i] == '['
			if len(path) == maxDepth {
				return fmt.Errorf("more than %d levels deep", maxDepth)
			}
			path, name = append(path, object{list: list}), !list
		case '}', ']':
			path, name = path[:len(path)-1], false
		case ',':
			name = !path[len(path)-1].list
		case '"':
			end := i + 1
			for document[end] != '"' {
				if document[end] == '\\' {
					end++
				}
				end++
			}
			if name {
				if err := path[len(path)-1].add(document[i:end+1], len(path) == 1); err != nil {
					return err
				}
			}
			i, name = end, false
		}
	}
	return nil
}

// add adds a name with its quotes to the object. A name that the object has already is an error.
func (o *object) add(quoted []byte, fold bool) error {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		var text string
		if err := json.Unmarshal(quoted, &text); err != nil {
			return err
		}
		name = []byte(text)
	}
	if o.has(name, fold) {
		return fmt.Errorf("the member %.60q is there twice", name)
	}
	return nil
}

// has reports whether the object already has a member with this name, and adds the name to the object.
func (o *object) has(name []byte, fold bool) bool {
	if len(o.names) < smallObject {
		o.names = append(o.names, name)
		return slices.ContainsFunc(o.names[:len(o.names)-1], func(n []byte) bool {
			return bytes.Equal(n, name) || fold && bytes.EqualFold(n, name)
		})
	}
	form := func(name []byte) string {
		if fold {
			name = bytes.ToLower(bytes.ToUpper(name)) // both conversions are needed, since some letters have more than two cases
		}
		return string(name)
	}
	if o.many == nil {
		o.many = map[string]bool{}
		for _, n := range o.names {
			o.many[form(n)] = true
		}
	}
	key := form(name)
	known := o.many[key]
	o.many[key] = true
	return known
}
