package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// FilesFile is in an imported run: one ImportedFile a line.
const FilesFile = "files.jsonl"

// FileSchema is that of a line of FilesFile.
const FileSchema = "tare.file/v1"

// ImportedFile is one file that an import read: where trials came from.
type ImportedFile struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`             // as given; "-" is standard input
	Arm    string `json:"arm,omitempty"`    // as given; "": the file tells
	Bytes  int64  `json:"bytes"`            // read; of a file that was not, because it is too large, its size
	SHA256 string `json:"sha256,omitempty"` // "": the file was not read to its end
	Raw    string `json:"raw,omitempty"`    // its copy, below the run's directory
	// Within are the SHA-256 digests of what was found within its trials, by name
	// below the run's directory.
	Within map[string]string `json:"within,omitempty"`
	Trials int               `json:"trials"`
	Broken string            `json:"broken,omitempty"` // why it gave no trials
}

// verifyImported compares the copies of the files that were imported with their digests.
func verifyImported(root *os.Root, v *Verified) error {
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

// neverCopied says whether a file was imported without keeping its copy, but named as if
// it were, as older versions did where something was kept of what is within its trials.
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
