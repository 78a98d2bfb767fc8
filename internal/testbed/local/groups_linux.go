package local

import (
	"errors"
	"fmt"
	"os"

	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// groups are a site's cgroups for its programs under test. They exist only if a layer has requested a cgroup.
type groups struct {
	all, servers, others *process.Group // servers and others are inside all
}

// Cgroup opens the directory of the cgroup that holds the programs under test at a place.
func (s *site) Cgroup(where testbed.Place) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		if err := s.makeGroups(); err != nil {
			return nil, fmt.Errorf("make a cgroup for programs under test: %w", err)
		}
	}
	switch {
	case where == testbed.Host:
		return s.groups.all.Dir(), nil
	case where.Server():
		return s.groups.servers.Dir(), nil
	}
	return s.groups.others.Dir(), nil
}

// makeGroups makes the cgroups. Their names identify the owner. If this process is killed, the cgroups can
// therefore be found and removed.
func (s *site) makeGroups() error {
	of := scopes()
	if of == nil {
		return errors.New("this process may not make cgroups (see tare doctor)")
	}
	g := &groups{}
	// g.all is made first, since it contains the other groups.
	for _, to := range []**process.Group{&g.all, &g.servers, &g.others} {
		made, err := of.Group(g.all, marker{owner: s.bed.owner, serial: int(serials.Add(1))}.scope())
		if err != nil {
			return errors.Join(err, g.remove())
		}
		*to = made
	}
	s.groups = g
	return nil
}

// groupOf returns the group in which a command starts; nil if it starts in no group.
func (s *site) groupOf(where testbed.Place, cmd testbed.Command) *process.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.groups == nil || !cmd.Subject:
		return nil
	case where.Server():
		return s.groups.servers
	}
	return s.groups.others
}

func (s *site) removeGroups() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.groups.remove()
	s.groups = nil
	return err
}

func (g *groups) remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, one := range []*process.Group{g.others, g.servers, g.all} {
		if one != nil {
			errs = append(errs, one.Remove())
		}
	}
	return errors.Join(errs...)
}
