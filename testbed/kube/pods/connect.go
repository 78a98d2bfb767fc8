package pods

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"

	"tare/testbed/kube/agent"
)

// New is a pod that has not been made yet.
func (m *Maker) New(plan *corev1.Pod) *Pod {
	p := &Pod{maker: m, plan: plan}
	p.session = p.connect()
	return p
}

// connect is a session with the agent of the pod that is there, or yet to be made.
func (p *Pod) connect() *agent.Session {
	return agent.NewSession(p.dial, agent.Options{Patience: p.maker.Limits.Connect.Std(), Alive: p.alive, Version: p.maker.Version})
}

// dial opens a connection to the agent.
func (p *Pod) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	return p.maker.On.Dial(ctx, p.plan.Namespace, p.plan.Name, Container, []string{ProgramIn(p.plan), "agent", "connect"})
}
