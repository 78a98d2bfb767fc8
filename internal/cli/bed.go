package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/run/runner"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/placement"
	"tare/internal/testbed/local"
	"tare/internal/version"
)

// bed is the testbed of a run, with functions that depend on its kind.
type bed struct {
	testbed.Testbed
	sampler runner.Sampler
	// clusters describes the clusters that the sites are on; nil on the local testbed.
	clusters func(context.Context) ([]machine.Cluster, error)
}

// openBed makes the testbed of an experiment. say receives messages about waiting. j is nil if the sites do not
// belong to a run.
func openBed(x *experiment.Expansion, j *journal.Journal, say func(string)) (*bed, error) {
	if x.Plan.Testbed == experiment.TestbedKubernetes {
		o := kube.Options{Version: version.String(), Host: host, Say: say}
		if j != nil {
			dir, err := filepath.Abs(j.Dir())
			if err != nil {
				return nil, err
			}
			o.Run, o.Resumed = dir, j.Session() > 1
		}
		k, err := kube.New(o)
		if err != nil {
			return nil, err
		}
		return &bed{Testbed: k, sampler: k.Sampler(), clusters: k.Describe}, nil
	}
	if err := local.Trials(); err != nil {
		return nil, err
	}
	l, err := local.New()
	if err != nil {
		return nil, err
	}
	return &bed{Testbed: l, sampler: runner.ThisMachine{Sampler: machine.NewSampler()}}, nil
}

// host returns the local testbed, for an experiment on a cluster that also needs this machine.
func host() (testbed.Testbed, error) { return local.New() }

// guard makes tare clean run if this process is killed. Its direct children die with it, but a program under
// test may have started others in the background.
func guard() {
	if self, err := os.Executable(); err == nil {
		local.Guard(self, "clean", "--"+guardFlag)
	}
}

// record completes the record of the environment after the sites were set up.
func (b *bed) record(ctx context.Context, j *journal.Journal, env *machine.Environment) error {
	if b.clusters == nil {
		if j.Session() == 1 {
			return nil // journal.Create wrote it
		}
		return j.AddEnvironment(env)
	}
	clusters, err := b.clusters(ctx)
	if err != nil {
		return err
	}
	env.Clusters = clusters
	if first := j.Environment(); j.Session() > 1 && first != nil {
		for _, note := range placement.Moved(first.Clusters, clusters) {
			if err := j.Note("the machine changed: " + note); err != nil {
				return err
			}
		}
	}
	return j.AddEnvironment(env)
}

// inNamespace starts this command again in a user namespace that allows networks, if this is necessary. It then
// exits with the exit code of the new process. Otherwise it returns nil, and the command continues.
func inNamespace(needed bool) error {
	if !needed || !local.NeedsUserNamespace() || os.Getenv(local.UserNamespaceVariable) != "" {
		return nil
	}
	code, err := local.EnterUserNamespace(os.Args[1:]...)
	if err != nil {
		return hinted(err, "tare doctor says what this system allows")
	}
	return exit(code)
}

// tryNamespace is inNamespace for commands that only test what works. If the system does not allow a user
// namespace, they continue and report this.
func tryNamespace() error {
	var code exit
	if err := inNamespace(true); errors.As(err, &code) {
		return code
	}
	return nil
}

// needsNetwork reports whether an experiment needs nodes with a network.
func needsNetwork(x *experiment.Experiment) bool {
	return neededBy(x)("testbed", "local")
}
