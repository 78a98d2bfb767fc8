package export

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"time"

	"tare/journal"
)

// SumsFile lists the digests of all other files of a bundle, as sha256sum reads them.
const SumsFile = "SHA256SUMS"

// Bundle writes a run as one archive to publish (tar.gz): the files that its record
// vouches for, with their digests, and nothing else that stands in its directory. The
// archive of a run is the same wherever and whenever it is made. Unpacked, it is a run
// directory.
func Bundle(w io.Writer, r Run) error {
	run, contents, err := journal.Contents(r.Record.Dir)
	if err != nil {
		return err
	}
	began := time.Unix(0, 0)
	if len(run.Sessions) > 0 {
		began = run.Sessions[0].Start
	}
	began = began.UTC().Truncate(time.Second)
	top := journal.DefaultDir("", run.Plan.Name, began) + "/"

	zip := gzip.NewWriter(w) // without a name and a time of its own
	out := tar.NewWriter(zip)
	add := func(name string, size int64, write func(io.Writer) error) error {
		// Times, owners and modes are the same for all: they say nothing of the run.
		header := &tar.Header{Name: top + name, Size: size, Mode: 0o644, ModTime: began, Format: tar.FormatPAX}
		if strings.HasSuffix(header.Name, "/") {
			header.Typeflag, header.Mode = tar.TypeDir, 0o700
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		return write(out)
	}
	if err := add("", 0, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	var sums strings.Builder
	for _, c := range contents {
		fmt.Fprintf(&sums, "%s  %s\n", c.SHA256, c.Name)
	}
	text := sums.String()
	err = add(SumsFile, int64(len(text)), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range contents {
		if err := add(c.Name, c.Size, func(w io.Writer) error { return c.Copy(w, run.Dir) }); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zip.Close()
}
