package importer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Auto is the name of the format that recognises each file by its content. A recognised format (one of Options.Known)
// then reads the file.
const Auto = "auto"

// recognise returns the format that finds a result in a text; nil: none. A test of package catalog checks that a text
// has at most one such format.
func recognise(known []Format, f File, text []byte) *Format {
	for i := range known {
		f.Reader, f.Size = bytes.NewReader(text), int64(len(text))
		if trials, err := known[i].Read(f); err == nil && len(trials) > 0 {
			return &known[i]
		}
	}
	return nil
}

// detect finds the format of each file, and combines the formats into one. A file without a format is broken if the
// user named it, or by its extension.
func (s *fileSearch) detect(ctx context.Context, known []Format, stdin io.Reader) (Format, error) {
	var formats []*Format
	alone := oneFileEach(s.files)
	for i := range s.files {
		f := &s.files[i]
		text, err := f.content(ctx, stdin)
		if ctx.Err() != nil {
			return Format{}, ctx.Err()
		}
		if err != nil {
			continue // the import reads this file again and then reports its error
		}
		f.format = recognise(known, File{Name: f.path, Alone: alone}, text)
		if f.format != nil && !slices.Contains(formats, f.format) {
			formats = append(formats, f.format)
		}
	}
	if len(formats) == 0 {
		err := fmt.Errorf("no format finds a result in %s", s.files[0].path)
		if n := len(s.files); n > 1 {
			err = fmt.Errorf("no format finds a result in any of %d files; the first is %s", n, s.files[0].path)
		}
		return Format{}, &DataError{hinted{err, "tare list formats names those that are read; tare import table --map FILE reads other tables and documents"}}
	}
	slices.SortFunc(formats, func(a, b *Format) int { return strings.Compare(a.Name, b.Name) })
	var passed []string
	s.files = slices.DeleteFunc(s.files, func(f inputFile) bool {
		if f.format != nil || f.root == nil || slices.ContainsFunc(formats, func(format *Format) bool { return fits(format.Extensions, f.name) }) {
			return false
		}
		passed = append(passed, f.path)
		return true
	})
	if len(passed) > 0 {
		s.remarks = append(s.remarks, plural(len(passed), "file")+" passed over that no format reads; the first is "+passed[0])
	}
	for i := range s.files {
		if f := &s.files[i]; f.format == nil {
			like := slices.IndexFunc(formats, func(format *Format) bool { return fits(format.Extensions, f.name) })
			f.format = formats[max(like, 0)]
		}
	}
	return together(formats), nil
}

func together(formats []*Format) Format {
	if len(formats) == 1 {
		return *formats[0]
	}
	var all Format
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
		all.Serial = all.Serial || f.Serial
		for _, s := range f.Settings {
			if !slices.ContainsFunc(all.Settings, func(known Setting) bool { return known.Name == s.Name }) {
				all.Settings = append(all.Settings, s)
			}
		}
	}
	all.Name = strings.Join(names, "+")
	return all
}

// content returns a file's content. If the file can be read only once, such as a pipe, the content is kept for the next
// reading.
func (f *inputFile) content(ctx context.Context, stdin io.Reader) (text []byte, err error) {
	in, err := f.open(ctx, stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err = ReadAll(in)
	if f.waits {
		f.buffered = io.MultiReader(bytes.NewReader(text), failing{cmp.Or(err, io.EOF)})
	}
	return text, err
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// mistaken returns the error of a broken file, with the name of another format that can read it. Only the first few
// broken files are tried.
func (r *run) mistaken(ctx context.Context, i int, why error) error {
	f := &r.files[i]
	if f.format != nil || f.waits || f.refused != "" || r.looked == mostProblems {
		return why
	}
	r.looked++
	text, err := f.content(ctx, nil)
	if err != nil {
		return why
	}
	other := recognise(r.Known, File{Name: f.path, Alone: r.oneFileEach}, text)
	if other == nil || other.Name == r.Format.Name {
		return why
	}
	r.others.get(other.Name, func() *string { return &f.path })
	return fmt.Errorf("%w (%s reads it)", why, other.Name)
}

// readers returns a hint for broken files that another format can read: the command that imports them.
func (r *run) readers() string {
	for format, file := range r.others.of {
		if len(r.others.of) == 1 {
			return fmt.Sprintf("%s is a file of %s: tare import %s", *file, format, format)
		}
	}
	return "the files are of several tools: tare import " + Auto
}
