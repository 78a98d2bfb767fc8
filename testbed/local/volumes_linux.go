package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare/machine/owned"
	"tare/testbed"
)

// volumeKind is what the directories are called in their names that stand in for members' volumes, that hold the
// file of a client's, and that are for programs under test.
const volumeKind = "volume"

var _ testbed.MemberVolumes = (*network)(nil)

// MemberVolume is the directory of a member, from 1; "" where none was asked for.
func (n *network) MemberVolume(i int) string {
	if i < 1 || i > len(n.volumes) {
		return ""
	}
	return n.volumes[i-1]
}

// makeVolumes makes a directory for each member where temporary files are (TMPDIR). Their
// size is what the file system has.
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

// removeVolumes removes the members' directories with all that is in them.
func (n *network) removeVolumes() error {
	var errs []error
	for _, dir := range n.volumes {
		errs = append(errs, owned.Remove(dir))
	}
	n.volumes = nil
	return errors.Join(errs...)
}

var _ testbed.Scratch = (*site)(nil)

// Scratch makes the directory where temporary files are (TMPDIR), under a name by which it is
// removed with the volumes of members, should this process be killed.
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

// CleanTemporary removes what Tares of this user that no longer run have left where temporary files are, and in other
// directories: see owned.Clean. Clean comes first, so that nothing is written there any more.
func CleanTemporary(dirs ...string) (removed []string, err error) {
	return owned.Clean(dirs, func(path string) error { return closeMapping(filepath.Base(path)) })
}
