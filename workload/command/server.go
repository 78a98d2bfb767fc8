package command

import (
	"context"
	"errors"

	"tare/testbed"
	"tare/workload"
	"tare/workload/service"
)

// Shared names the server that cells share, if there is one.
func (c *Config) Shared() string {
	if c.Server == nil {
		return ""
	}
	return c.served().Shared()
}

// SetUp starts the server.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Standing, error) {
	server, err := c.served().SetUp(ctx, s)
	if err != nil {
		return nil, err
	}
	return server, nil
}

// serving is a server during the measured part of a trial.
type serving struct {
	server *service.Server // nil: there is none
	raw    workload.Raw
	used   testbed.Usage // in the stretches so far
}

// during runs a stretch of the measured part, and counts what the server uses in it.
func (s *serving) during(ctx context.Context, run func() error) error {
	if s.server == nil {
		return run()
	}
	before, err := s.server.Account()
	if err != nil {
		return err
	}
	failed := run()
	if ended := s.server.Judge(ctx); ended != nil {
		return ended // which is why the program failed, if it did
	}
	used, err := s.server.Since(before)
	s.used = s.used.Plus(used)
	return errors.Join(failed, err)
}

// keep keeps what the server has printed with the trial.
func (s *serving) keep() error {
	if s.server == nil {
		return nil
	}
	return s.server.Log(s.raw)
}
