package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/run/journal"
	"tare/internal/text/input"
)

// Source lists the files of one arm.
type Source struct {
	Arm  string   // "": the files themselves name their arms, or there is only one arm
	From []string // directories, patterns and files, as the user wrote them; "-" is standard input
}

// inputFile is a file to be read. It does not hold the file's content, since an import may have very many files.
type inputFile struct {
	fileKey
	path  string   // the path as the user knows it
	name  string   // path relative to the directory, or to the part of the pattern without wildcards
	root  *os.Root // links must not lead out of this directory; nil: links may lead anywhere
	waits bool     // the file is a pipe: reading waits for the writer, and is possible only once
	// refused is the reason why the file is not read; "" if the file is read.
	refused  string
	format   *Format   // the format found in the file; nil: the import's format
	buffered io.Reader // content that was already read from a pipe; nil: none
}

// lostLink is the beginning of the reason why a link is not followed. The name of a directory completes it.
const lostLink = "a link that leads nowhere or out of "

const stdin = "-"

type fileSearch struct {
	extensions []string
	files      []inputFile
	remarks    []string // remarks on the files that were passed over
	roots      []*os.Root
}

func (o *Options) find() (s *fileSearch, err error) {
	if o.Layout == nil {
		remark := ""
		if o.Sources, remark, err = byDirectory(o.Sources); err != nil {
			return nil, err
		}
		if s, err = find(o.Sources, o.Format.Extensions); err == nil && remark != "" {
			s.remarks = append(s.remarks, remark)
		}
		return s, err
	}
	if err := o.Layout.compile(); err != nil {
		return nil, err
	}
	if len(o.Layout.Block) > 0 {
		if o.PairBy.how != "" {
			return nil, misuse("leave out --pair-by", "cannot pair by %s: repeats are compared within their block", o.PairBy)
		}
		o.PairBy = o.Layout.pairing()
	}
	s, o.Sources, err = o.Layout.find()
	return s, err
}

// find lists the files of all sources: the arms in the given order, the files of each directory and pattern in
// natural order.
func find(sources []Source, extensions []string) (*fileSearch, error) {
	s := &fileSearch{extensions: extensions}
	var err error
	for _, source := range sources {
		for k := 0; k < len(source.From) && err == nil; k++ {
			err = s.add(source.Arm, source.From[k])
		}
	}
	if err = cmp.Or(err, s.twice()); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close closes the directories. They were only read, so errors are ignored.
func (s *fileSearch) close() {
	for _, root := range s.roots {
		_ = root.Close()
	}
}

func (s *fileSearch) open(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, misuse("", "cannot read %s: %w", dir, bare(err))
	}
	s.roots = append(s.roots, root)
	return root, nil
}

func (s *fileSearch) add(arm, from string) error {
	f := inputFile{path: from, name: filepath.Base(from), fileKey: fileKey{arm: arm}, waits: true}
	if from != stdin {
		paths, fixed, err := expand(from)
		if err != nil {
			return err
		}
		if fixed != "" {
			return s.pattern(arm, from, fixed, paths)
		}
		info, err := os.Stat(from)
		switch {
		case err != nil:
			return misuse("", "cannot read %s: %w", from, bare(err))
		case info.IsDir():
			return s.directory(arm, from)
		}
		f.waits = !info.Mode().IsRegular()
	}
	s.files = append(s.files, f)
	return nil
}

func (s *fileSearch) directory(arm, dir string) error {
	root, err := s.open(dir)
	if err != nil {
		return err
	}
	begin := len(s.files)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		f := inputFile{path: filepath.Join(dir, name), name: name, fileKey: fileKey{arm: arm}, root: root}
		switch {
		case err != nil:
			f.refused = bare(err).Error()
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && journal.IsRun(f.path):
			if name == "." {
				return misuse("import the files that it was made of", "%s is a run directory of Tare", dir)
			}
			s.remarks = append(s.remarks, f.path+" is a run directory of Tare and was passed over")
			return fs.SkipDir
		case d.IsDir():
			return nil
		default:
			kind, lost := d.Type(), ""
			if kind&fs.ModeSymlink != 0 {
				if info, err := root.Stat(name); err == nil {
					kind = info.Mode().Type()
				} else {
					lost = lostLink + dir
				}
			}
			switch fits := fits(s.extensions, name); {
			case kind.IsDir():
				s.remarks = append(s.remarks, f.path+" is a link to a directory and was not followed")
				return nil
			case !fits && lost != "":
				s.remarks = append(s.remarks, f.path+" is "+lost+" and was not followed")
				return nil
			case !fits:
				return nil
			case lost != "":
				f.refused = lost
			case !kind.IsRegular():
				f.refused = input.ErrIrregular.Error()
			}
		}
		s.files = append(s.files, f)
		return nil
	})
	if _, wrong := errors.AsType[*UsageError](err); wrong {
		return err
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", dir, err)
	}
	if len(s.files) == begin {
		return misuse("name the files themselves if they have other names; tare import auto recognises by content which tool wrote a file", "no %s below %s",
			strings.TrimSpace(strings.Join(s.extensions, " or ")+" file"), dir)
	}
	slices.SortStableFunc(s.files[begin:], func(a, b inputFile) int { return natural(a.name, b.name) })
	return nil
}

// pattern adds the files that match a pattern, in natural order. A matching directory adds all files in it.
func (s *fileSearch) pattern(arm, pattern, fixed string, matches []string) error {
	if len(matches) == 0 {
		return misuse("", "nothing matches %s", pattern)
	}
	root, err := s.open(fixed)
	if err != nil {
		return err
	}
	begin := len(s.files)
	taken := map[string]bool{} // directories that were added with all their files
	within := func(m string) bool {
		up := filepath.Dir(m)
		for len(taken) > 0 && len(up) > 1 && !taken[up] {
			up = filepath.Dir(up)
		}
		return taken[up]
	}
	last := filepath.Base(pattern)
	for _, m := range matches {
		name, err := filepath.Rel(fixed, m)
		if err != nil {
			return err
		}
		f := inputFile{path: m, name: name, fileKey: fileKey{arm: arm}, root: root}
		info, err := root.Stat(name)
		switch {
		case err == nil && info.IsDir():
			if strings.Contains(pattern, "**") && (last == "*" || last == "**") || within(m) {
				continue // the pattern also matches the directory's files, or they are already in the list
			}
			if err := s.directory(arm, m); err != nil {
				return err
			}
			taken[filepath.Clean(m)] = true
			continue
		case within(m), err == nil && strings.HasSuffix(pattern, "/"):
			continue
		case err != nil:
			f.name, f.root, f.refused = m, nil, bare(err).Error()
			if link, err := os.Lstat(m); err != nil || link.Mode().Type() == fs.ModeSymlink || !inside(fixed, m) {
				f.refused = lostLink + fixed
			}
		}
		s.files = append(s.files, f)
	}
	if len(s.files) == begin {
		return misuse("", "no file matches %s", pattern)
	}
	return nil
}

func fits(extensions []string, name string) bool {
	name = strings.ToLower(path.Base(name))
	return len(extensions) == 0 || slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(name, e) })
}

// twice returns an error if a file is named twice: it would count as two trials, or an arm would be compared with
// itself.
func (s *fileSearch) twice() error {
	seen := make(map[string]string, len(s.files)) // the arm of each file, by the file's path
	for _, f := range s.files {
		full := f.path
		if full != stdin {
			var err error
			if full, err = filepath.Abs(full); err != nil {
				return err
			}
		}
		switch arm, ok := seen[full]; {
		case ok && full == stdin:
			return misuse("", "standard input (-) can be read only once")
		case ok && arm != f.arm:
			return misuse("a file is one trial of one arm", "%s is given for two arms, %s and %s", f.path, arm, f.arm)
		case ok:
			return misuse("a file is one trial", "%s is given twice", f.path)
		}
		seen[full] = f.arm
	}
	return nil
}

func oneFileEach(files []inputFile) bool {
	arms := map[string]bool{}
	for _, f := range files {
		arms[f.arm] = true
	}
	return len(arms) > 1 && len(arms) == len(files) && !arms[""]
}

// open opens a file for reading. Reading from a pipe ends when ctx ends.
func (f *inputFile) open(ctx context.Context, in io.Reader) (file io.ReadCloser, err error) {
	switch {
	case f.refused != "":
		return nil, errors.New(f.refused)
	case f.buffered != nil:
		return io.NopCloser(f.buffered), nil
	case f.path == stdin:
		return input.UntilDone(ctx, io.NopCloser(in)), nil
	case f.root != nil:
		file, err = input.OpenIn(f.root, filepath.FromSlash(f.name))
	default:
		file, err = input.Open(f.path)
	}
	switch {
	case err != nil:
		return nil, bare(err)
	case f.waits:
		return input.UntilDone(ctx, file), nil
	}
	return file, nil
}

// bare removes the path from an error about a file, since the message names the file already.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
