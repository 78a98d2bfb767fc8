package command

import (
	"context"
	"errors"

	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/service"
)

// Shared returns the name of the server that several cells share; "": there is no server.
func (c *Config) Shared() string {
	if c.Server == nil {
		return ""
	}
	return c.filledServer().Shared()
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	server, err := c.filledServer().SetUp(ctx, s)
	if err != nil {
		return nil, err
	}
	return server, nil
}

// serving is a server during the measured part of a trial.
type serving struct {
	server *service.Server // nil: the workload has no server
	raw    workload.Raw
	used   testbed.Usage // resources that the server used in the counted parts so far
}

// during calls run, and adds the resources that the server used meanwhile.
func (s *serving) during(ctx context.Context, run func() error) error {
	if s.server == nil {
		return run()
	}
	before, err := s.server.Account()
	if err != nil {
		return err
	}
	failed := run()
	if ended := s.server.BrokenRule(ctx); ended != nil {
		return ended // the end of the server explains a failure of the program
	}
	used, err := s.server.Since(before)
	s.used = s.used.Plus(used)
	return errors.Join(failed, err)
}

// keep writes the server's output to a raw file of the trial.
func (s *serving) keep() error {
	if s.server == nil {
		return nil
	}
	return s.server.Log(s.raw)
}
