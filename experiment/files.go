package experiment

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// MaxFile is the most bytes of a file that an experiment file names.
const MaxFile = 256 << 10

// readBeside reads the files that an experiment file names: relative names start
// at the directory of that file, or at the working directory when it came from
// standard input.
func readBeside(experiment string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(experiment), name)
		}
		// What is no file may never end, or not even open.
		about, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !about.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file", name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
		if err == nil && len(data) > MaxFile {
			err = fmt.Errorf("%s has more than %d KiB", name, MaxFile>>10)
		}
		return data, err
	}
}

// read is how a config's files are read; what was read is kept.
func (l *loader) read(name string) ([]byte, error) {
	if data, known := l.files[name]; known {
		return data, nil
	}
	read := l.kinds.Read
	if read == nil {
		read = readBeside(l.name)
	}
	data, err := read(name)
	if err != nil {
		return nil, err
	}
	if l.files == nil {
		l.files = map[string][]byte{}
	}
	l.files[name] = data
	return data, nil
}
