package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// FilesFile is the list of imported files, one ImportedFile a line. Only imported runs have it.
const FilesFile = "files.jsonl"

// FileSchema is the schema of a line of FilesFile.
const FileSchema = "tare.file/v1"

// ImportedFile is a file that an import read.
type ImportedFile struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`             // path as given; "-": standard input
	Arm    string `json:"arm,omitempty"`    // arm as given; "": the file contains the arm
	Bytes  int64  `json:"bytes"`            // bytes read; the file's size if it was too large to be read
	SHA256 string `json:"sha256,omitempty"` // "": the file was not read to its end
	Raw    string `json:"raw,omitempty"`    // path of the copy, relative to the run directory
	// Within maps files with data from inside the trials to their SHA-256 digests. Names are relative to
	// the run directory.
	Within map[string]string `json:"within,omitempty"`
	Trials int               `json:"trials"`
	Broken string            `json:"broken,omitempty"` // reason why the file gave no trials
}

func verifyImported(root *os.Root, v *verified) error {
	f, err := openFile(root, FilesFile, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	known := map[string]bool{}
	_, err = eachLine(f, FilesFile, func(line []byte, where func() string) error {
		var file ImportedFile
		if err := decode(line, where(), FileSchema, &file); err != nil {
			return err
		}
		digests := file.Within
		if file.Raw != "" && file.SHA256 != "" {
			if digests == nil {
				digests = map[string]string{}
			}
			digests[file.Raw] = file.SHA256
		}
		for name, wanted := range digests {
			if known[name] {
				return &DamageError{Where: where(), What: fmt.Sprintf("%s is there twice", name)}
			}
			known[name] = true
			err := v.compare(root, name, wanted)
			if errors.Is(err, fs.ErrNotExist) && neverCopied(root, &file) {
				continue
			}
			if err != nil {
				return &DamageError{Where: where(), What: err.Error()}
			}
		}
		return nil
	})
	return err
}

// neverCopied reports whether an import names a copy of the file that it never made. Older versions of
// Tare did so if they kept series or histograms of its trials.
func neverCopied(root *os.Root, f *ImportedFile) bool {
	if len(f.Within) > 0 {
		return false
	}
	for _, name := range []string{".series.json", ".histograms.json"} {
		if _, err := root.Stat(f.Raw + name); err == nil {
			return true
		}
	}
	return false
}
