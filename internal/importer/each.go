package importer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/experiment"
	"tare/internal/run/journal"
)

// FileImport is the import of one file into a run of its own.
type FileImport struct {
	File, Directory string
	Result          *Result // nil: the import failed, or the run exists already
	Err             error   // the reason why there is no run
}

// Each imports every file into a run of its own below dir, named after the file, and calls done for each. It
// leaves a run that exists as it is, so that the files of another night can be added. The trials of a file that
// holds no time start at the file's last modification. Each returns the last file's error if no file gave a
// run. With Strict it returns the first error.
func Each(ctx context.Context, dir string, o Options, done func(FileImport)) error {
	if len(o.Sources) != 1 {
		return misuse("give the files of one arm, or import arms into one run each", "one run of each file holds one arm, not %d", len(o.Sources))
	}
	source := o.Sources[0]
	search, err := find(o.Sources, o.Format.Extensions)
	if err != nil {
		return err
	}
	if err := search.close(); err != nil {
		return err
	}
	taken := map[string]string{} // files by the directory of their run
	made := 0
	var last error
	for _, f := range search.files {
		if f.waits {
			return misuse("give files by their names", "%s has no name that a run could be called by", f.path)
		}
		name := strings.TrimLeft(experiment.FileName(strings.TrimSuffix(filepath.ToSlash(f.name), filepath.Ext(f.name))), ".-")
		one := FileImport{File: f.path, Directory: filepath.Join(dir, name)}
		if other, ok := taken[name]; ok || name == "" {
			return misuse("give directories in which the files have different names", "%s and %s would both be the run %s", other, f.path, one.Directory)
		}
		taken[name] = f.path
		switch {
		case f.refused != "":
			one.Err = errors.New(f.refused)
		case !journal.IsRun(one.Directory):
			o.Sources = []Source{{Arm: source.Arm, From: []string{f.path}}}
			if info, err := os.Stat(f.path); err == nil {
				o.Start = info.ModTime()
			}
			one.Result, one.Err = Run(ctx, one.Directory, o)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if wrong := (*UsageError)(nil); one.Err != nil && (o.Strict || errors.As(one.Err, &wrong)) {
			return one.Err
		}
		if one.Err == nil {
			made++
		}
		last = one.Err
		done(one)
	}
	if made > 0 {
		return nil
	}
	return last
}
