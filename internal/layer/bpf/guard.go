package bpf

import (
	"context"
	"fmt"
	"os"
	"strings"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed"
)

// Hook is a hook of a layer, with the action whose effect shows that the hook is on.
type Hook struct {
	Name  string
	Index int    // index among the counts
	Try   string // the prober's word for an action that hits the hook
	Match bool   // a rule matches that action
	Deny  bool   // the matching rule denies the action
}

// Guard is a layer's BPF programs at one site, with the proofs that they are on.
type Guard struct {
	Layer  string
	Loaded *loaded
	Hooks  []Hook
	Places []testbed.Place

	began []count // counts at the beginning of the trial
}

// Group returns the cgroup of the site's programs that the layer is put around.
func Group(s *layer.Session, around layer.Side) (*os.File, error) {
	at := testbed.Host
	switch around {
	case layer.Server:
		at = testbed.ServerPod
	case layer.Client:
		at = testbed.ClientPod
	}
	site, err := testbed.Need[testbed.Cgrouped](s.Site, "there are no cgroups for programs at this site: use the testbed local on Linux")
	if err != nil {
		return nil, err
	}
	return site.Cgroup(at)
}

type guardSet struct{ up []*Guard }

// Up returns the active layer for loaded programs. Settle attaches them, and returns only failed checks,
// which end a run before its first trial. Up also keeps the guard for the proofs in other arms.
func (g *Guard) Up(s *layer.Session, l layer.Layer) *layer.Active {
	k := layer.Kept[guardSet](s.Run, l)
	k.up = append(k.up, g)
	return &layer.Active{
		Settle: func(ctx context.Context) (failed []layer.Check, err error) {
			if err := g.Loaded.On(); err != nil {
				return nil, err
			}
			checks, err := g.Before(ctx, s.Site)
			for _, c := range checks {
				if !c.OK {
					failed = append(failed, c)
				}
			}
			return failed, err
		},
		Before: g.Before,
		After:  g.After,
		Down:   func(context.Context) error { return g.Loaded.Close() },
	}
}

// try lets the prober try the actions of the hooks. It returns the answers, and the hits that the guards
// counted meanwhile.
func try(ctx context.Context, site testbed.Site, where testbed.Place, hooks []Hook, guards ...*Guard) (answers map[string]string, counted []count, err error) {
	var words []string
	for _, h := range hooks {
		words = append(words, h.Try)
	}
	before, err := sum(hooks, guards)
	if err != nil {
		return nil, nil, err
	}
	if answers, err = wrapper.Try(ctx, site, where, words...); err != nil {
		return nil, nil, err
	}
	counted, err = sum(hooks, guards)
	for i := range counted {
		counted[i].Hits -= before[i].Hits
		counted[i].Matches -= before[i].Matches
	}
	return answers, counted, err
}

func sum(hooks []Hook, guards []*Guard) ([]count, error) {
	all := make([]count, len(hooks))
	for _, g := range guards {
		counts, err := g.Loaded.Counts()
		if err != nil {
			return nil, err
		}
		for i, h := range hooks {
			if counts != nil {
				all[i].Hits += counts[h.Index].Hits
				all[i].Matches += counts[h.Index].Matches
			}
		}
	}
	return all, nil
}

const denied = "EPERM"

// Before shows that each hook sees the actions of the arm's programs and has its effect on them. It keeps the
// counts for After.
func (g *Guard) Before(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	checks, err := layer.Each(g.Places, func(where testbed.Place) ([]layer.Check, error) {
		answers, counted, failed := try(ctx, site, where, g.Hooks, g)
		if err := wrapper.Interrupted(ctx, failed); err != nil {
			return nil, err
		}
		var checks []layer.Check
		for i, h := range g.Hooks {
			c := layer.Check{Layer: g.Layer, Name: "hook " + h.Name, Expected: "seen by the hook"}
			switch {
			case h.Deny:
				c.Expected = "denied by a rule, " + denied
			case h.Match:
				c.Expected = "seen by a rule, and allowed"
			}
			if failed != nil {
				c.Observed = failed.Error()
			} else {
				answer, n := answers[h.Try], counted[i]
				c.Observed = fmt.Sprintf("%s gives %s; hits %d, matches %d", h.Try, answer, n.Hits, n.Matches)
				c.OK = n.Hits > 0 && h.Match == (n.Matches > 0) && (!h.Match || h.Deny == (answer == denied))
			}
			checks = append(checks, c)
		}
		return checks, nil
	})
	if err == nil {
		g.began, err = g.Loaded.Counts()
	}
	return checks, err
}

// negligible is a number of hits per unit of work, of all hooks together, that counts as no use of the hooks.
const negligible = 0.01

// After reports how often the hooks were hit in the trial.
func (g *Guard) After(_ context.Context, did layer.Did) ([]layer.Check, error) {
	counts, err := g.Loaded.Counts()
	if err != nil || counts == nil || g.began == nil {
		return nil, err
	}
	all := uint64(0)
	var each []string
	for _, h := range g.Hooks {
		n := counts[h.Index].Hits - g.began[h.Index].Hits
		all += n
		text := fmt.Sprintf("%s %d", h.Name, n)
		if did.Work > 0 {
			text += fmt.Sprintf(" (%.3g per unit of work)", float64(n)/did.Work)
		}
		each = append(each, text)
	}
	return []layer.Check{{Layer: g.Layer, Name: "hits of the hooks in the trial", Expected: "counted", Observed: strings.Join(each, ", "), OK: true,
		Unexercised: float64(all) <= negligible*did.Work}}, nil
}

// Off shows that the actions that the hooks deny are allowed at the site of another arm, and that no guard
// counts them. If that arm has its own layer of this kind, its hooks see and deny the same actions. Off then
// asks the kernel where the guards' programs are attached. Group also makes the cgroups of both arms equally
// deep.
func Off(ctx context.Context, kind string, s *layer.Session, l layer.Layer, around layer.Side, hooks []Hook) ([]layer.Check, error) {
	group, err := Group(s, around)
	if err != nil {
		return nil, err
	}
	guards := layer.Kept[guardSet](s.Run, l).up
	if s.Own != nil {
		c := layer.Check{Layer: kind, Name: "programs of another arm", Expected: "not attached here", Observed: "none is", OK: true}
		for _, g := range guards {
			name, err := g.Loaded.AttachedTo(group)
			if err != nil {
				return nil, err
			}
			if name != "" {
				c.Observed, c.OK = name+" is", false
			}
		}
		return []layer.Check{c}, nil
	}
	return layer.Each(around.Places(s), func(where testbed.Place) ([]layer.Check, error) {
		answers, counted, err := try(ctx, s.Site, where, hooks, guards...)
		if err != nil {
			return nil, err
		}
		var checks []layer.Check
		for i, h := range hooks {
			answer, hits := answers[h.Try], counted[i].Hits
			c := layer.Check{Layer: kind, Name: "hook " + h.Name, Expected: "not seen by its hook", Observed: fmt.Sprintf("%s gives %s; hits %d", h.Try, answer, hits), OK: hits == 0}
			if h.Deny {
				c.Expected = "not denied, and " + c.Expected
				c.OK = c.OK && answer != denied
			}
			checks = append(checks, c)
		}
		return checks, nil
	})
}

// Elsewhere names the alternative on a cluster.
const Elsewhere = "on a cluster, apply policies of vArmor and similar programs by the layer manifests, as examples/kubernetes/varmor.yaml does"

// Works returns the probe of a layer, which tries the layer on this machine.
func Works(name string, l layer.Layer) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding {
		f := testbed.Finding{Name: name, Status: testbed.Works, Detail: "the kernel loads its programs, and the programs deny the actions of the rules"}
		_, err := layer.Try(ctx, experiment.Needs{}, l.Up)
		return []testbed.Finding{f.Tried(err)}
	}
}
