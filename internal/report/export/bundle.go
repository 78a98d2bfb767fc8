package export

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"time"

	"tare/internal/run/journal"
)

// sumsFile lists the digests of all other files of a bundle, in the format of sha256sum.
const sumsFile = "SHA256SUMS"

// bundle writes a run as one archive to publish (tar.gz). It holds the files that the run's chain covers,
// with their digests, and no others. Archives of the same run are identical, byte for byte. Unpacked, an
// archive is a run directory.
func bundle(w io.Writer, r Run) error {
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

	zip := gzip.NewWriter(w) // the gzip header has no file name and no time
	out := tar.NewWriter(zip)
	add := func(name string, size int64, write func(io.Writer) error) error {
		// Times, owners and modes are the same for all files, since they reveal nothing about the run.
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
	err = add(sumsFile, int64(len(text)), func(w io.Writer) error {
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
