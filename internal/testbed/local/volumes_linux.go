package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
)

// volumeKind is the kind in the names of three sorts of directories: members' volumes, the directory of
// a client's volume, and scratch directories.
const volumeKind = "volume"

var _ testbed.MemberVolumes = (*network)(nil)

// MemberVolume is the directory of a member, from 1; "" if there is none.
func (n *network) MemberVolume(i int) string {
	if i < 1 || i > len(n.volumes) {
		return ""
	}
	return n.volumes[i-1]
}

// makeVolumes makes a directory for each member in TMPDIR. Its size is that of the file system there.
func (n *network) makeVolumes() error {
	for range n.Members() {
		dir, err := owned.Dir("", volumeKind)
		if err != nil {
			return fmt.Errorf("the volume of a member: %w", err)
		}
		n.volumes = append(n.volumes, dir)
	}
	return nil
}

func (n *network) removeVolumes() error {
	var errs []error
	for _, dir := range n.volumes {
		errs = append(errs, owned.Remove(dir))
	}
	n.volumes = nil
	return errors.Join(errs...)
}

var _ testbed.Scratch = (*site)(nil)

// Scratch makes the directory in TMPDIR. Its name identifies the owner, so that it is removed if this
// process is killed.
func (s *site) Scratch() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scratch != "" {
		return s.scratch, nil
	}
	dir, err := owned.Dir("", volumeKind)
	if err != nil {
		return "", fmt.Errorf("a directory for programs under test: %w", err)
	}
	s.scratch = dir
	return dir, os.Chmod(dir, 0o755)
}

func (s *site) removeScratch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scratch == "" {
		return nil
	}
	err := owned.Remove(s.scratch)
	s.scratch = ""
	return err
}

// CleanTemporary removes leftovers of this user's dead Tare processes in TMPDIR and in other
// directories: see owned.Clean. Clean must run first, so that no process writes there any more.
func CleanTemporary(dirs ...string) (removed []string, err error) {
	return owned.Clean(dirs, func(path string) error { return closeMapping(filepath.Base(path)) })
}
