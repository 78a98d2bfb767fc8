// Package cgroup makes and removes the control group that a node keeps its
// pods in, on cgroup v1 and v2.
package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const mountPoint = "/sys/fs/cgroup"

// required are the controllers without which a kubelet does not start.
var required = []string{"cpu", "cpuset", "memory", "pids"}

// removeLimit is how long a group may take to become empty once its processes
// have been killed.
const removeLimit = 30 * time.Second

// Unified reports whether the machine has cgroup v2 only.
func Unified() (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(mountPoint, &fs); err != nil {
		return false, fmt.Errorf("no cgroups: statfs %s: %w", mountPoint, err)
	}
	return fs.Type == unix.CGROUP2_SUPER_MAGIC, nil
}

// Check says what a kubelet would miss.
func Check() error {
	unified, err := Unified()
	if err != nil {
		return err
	}
	var there []string
	if unified {
		content, err := os.ReadFile(filepath.Join(mountPoint, "cgroup.subtree_control"))
		if err != nil {
			return err
		}
		there = strings.Fields(string(content))
	} else {
		hierarchies, err := hierarchies()
		if err != nil {
			return err
		}
		for _, h := range hierarchies {
			there = append(there, strings.Split(filepath.Base(h), ",")...)
		}
	}
	for _, c := range required {
		if !slices.Contains(there, c) {
			return fmt.Errorf("cgroup controller %s is not available under %s (available: %s)", c, mountPoint, strings.Join(there, ", "))
		}
	}
	return nil
}

// Make makes the group in every hierarchy.
func Make(name string) error {
	hierarchies, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		group := filepath.Join(h, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			return err
		}
		if err := copyCpuset(h, group); err != nil {
			return fmt.Errorf("cgroup %s: %w", group, err)
		}
	}
	return nil
}

// copyCpuset fills in what a new v1 cpuset starts without: nothing can run in
// a group that has no CPUs.
func copyCpuset(parent, group string) error {
	if _, err := os.Stat(filepath.Join(group, "cgroup.clone_children")); err != nil {
		return nil // v2
	}
	if _, err := os.Stat(filepath.Join(group, "cpuset.cpus")); err != nil {
		return nil // another controller
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		content, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(group, file), content, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(group, "cgroup.clone_children"), []byte("1"), 0o644)
}

// Remove removes the groups of that name and all below them, which must be
// without processes or about to be.
func Remove(ctx context.Context, name string) error {
	groups, err := filepath.Glob(filepath.Join(mountPoint, "*", name))
	if err != nil {
		return err
	}
	groups = append(groups, filepath.Join(mountPoint, name))
	deadline := time.Now().Add(removeLimit)
	for _, group := range groups {
		for {
			err := removeTree(group)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				return fmt.Errorf("remove cgroup %s: %w", group, err)
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("remove cgroup %s: %w", group, ctx.Err())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

func removeTree(group string) error {
	var dirs []string
	err := filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	slices.Reverse(dirs) // children first
	for _, dir := range dirs {
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

// hierarchies are the directories that a group has to be made in: one on
// cgroup v2, one for each mounted controller set on v1.
func hierarchies() ([]string, error) {
	unified, err := Unified()
	if err != nil {
		return nil, err
	}
	if unified {
		return []string{mountPoint}, nil
	}
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var dirs []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 2 && fields[2] == "cgroup" && filepath.Dir(fields[1]) == mountPoint {
			dirs = append(dirs, fields[1])
		}
	}
	return dirs, nil
}
