package pods

import (
	"context"
	"io"

	"tare/testbed/kube/agent"
)

// connect is a session with the agent of the pod that is there, or yet to be made.
func (p *Pod) connect() *agent.Session {
	return agent.NewSession(p.dial, agent.Options{Patience: p.maker.Limits.Connect.Std(), Alive: p.alive, Version: p.maker.Version})
}

// dial opens a connection to the agent.
func (p *Pod) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	return p.maker.On.Dial(ctx, p.plan.Namespace, p.plan.Name, Container, []string{ProgramIn(p.plan), "agent", "connect"})
}
