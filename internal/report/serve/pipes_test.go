//go:build unix

package serve

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A FIFO in the place of a file is refused, and keeps nobody waiting.
func TestSiteOfPipes(t *testing.T) {
	to := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(to, manifestFile), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := library(t, t.TempDir()).Site(t.Context(), to, false, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe as the list of a site's files: %v", err)
	}
}
