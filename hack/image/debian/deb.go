package debian

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"tare/hack/image/tree"
)

// Deb is a package's file, opened.
type Deb struct {
	Package
	Control []byte // the stanza that dpkg would keep of it
	Files   tree.Tree
}

// ReadDeb reads a package's file.
func ReadDeb(ctx context.Context, file string) (Deb, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Deb{}, err
	}
	sum := sha256.Sum256(content)
	d := Deb{Package: Package{SHA256: hex.EncodeToString(sum[:])}}
	if d.Control, err = exec.CommandContext(ctx, "dpkg-deb", "--field", file).Output(); err != nil {
		return Deb{}, fmt.Errorf("dpkg-deb --field %s: %w", file, err)
	}
	for line := range strings.Lines(string(d.Control)) {
		switch key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": "); key {
		case "Package":
			d.Name = value
		case "Version":
			d.Version = value
		}
	}
	archive, err := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file).Output()
	if err != nil {
		return Deb{}, fmt.Errorf("dpkg-deb --fsys-tarfile %s: %w", file, err)
	}
	if d.Files, err = tree.Read(bytes.NewReader(archive)); err != nil {
		return Deb{}, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}
