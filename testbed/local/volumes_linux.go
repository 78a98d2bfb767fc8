package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/testbed"
)

// volumePrefix begins the names of the directories that stand in for members' volumes, and of
// those that hold the file of a client's. The owner follows, by which those of a dead Tare are known.
const volumePrefix = "tare-volume-"

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
		dir, err := os.MkdirTemp("", volumePrefix+n.bed.owner.String()+"-*")
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
		errs = append(errs, os.RemoveAll(dir))
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
	dir, err := os.MkdirTemp("", volumePrefix+s.bed.owner.String()+"-*")
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
	err := os.RemoveAll(s.scratch)
	s.scratch = ""
	return err
}

// StrayVolumes lists directories of volumes that a Tare of this user has left which
// no longer runs.
func StrayVolumes() ([]string, error) {
	self, err := thisProcess()
	if err != nil {
		return nil, fmt.Errorf("stray volumes: %w", err)
	}
	all, err := filepath.Glob(filepath.Join(os.TempDir(), volumePrefix+"*"))
	if err != nil {
		return nil, err
	}
	var strays []string
	for _, dir := range all {
		o, ok := ownerIn(volumePrefix, filepath.Base(dir))
		var st unix.Stat_t
		if !ok || !orphaned(marker{owner: o}, self) || unix.Lstat(dir, &st) != nil || int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		strays = append(strays, dir)
	}
	return strays, nil
}

// CleanVolumes removes those directories, and says which there were. Clean comes first, so
// that nothing is written there any more.
func CleanVolumes() ([]string, error) {
	strays, err := StrayVolumes()
	for i, dir := range strays {
		if err := errors.Join(closeMapping(filepath.Base(dir)), os.RemoveAll(dir)); err != nil {
			return strays[:i], fmt.Errorf("remove the volume of a run that was killed: %w", err)
		}
	}
	return strays, err
}
