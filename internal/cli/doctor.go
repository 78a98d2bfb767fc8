package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/report/render"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/text/safetext"
)

// part is a feature that an experiment may need, with the findings of its probe.
type part struct {
	Kind     string            `json:"kind"` // "testbed", "layer", "workload", "program", "option"
	Name     string            `json:"name"`
	Findings []testbed.Finding `json:"findings"`
}

// unusable reports whether a part cannot be used. A testbed, an arm and the limits need all findings to be Works. A
// layer, workload or program needs one.
func (p part) unusable() bool {
	switch p.Kind {
	case optionKind:
		return false
	case "testbed", limitsKind, armKind:
		return slices.ContainsFunc(p.Findings, func(f testbed.Finding) bool { return f.Status != testbed.Works })
	}
	return !slices.ContainsFunc(p.Findings, func(f testbed.Finding) bool { return f.Status == testbed.Works })
}

const (
	volumePart = "local volume" // part of the local testbed that only workloads with a volume need
	optionKind = "option"       // kind of a part that an experiment can do without
	armKind    = "arm"          // kind of a part that describes an arm
	limitsKind = "limits"       // kind of the part that describes the system's limits
)

func (p part) problem() error {
	var why, hints []string
	for _, f := range p.Findings {
		if f.Status == testbed.Works {
			continue
		}
		why = append(why, fmt.Sprintf("%s: %s (%s)", f.Name, f.Status, f.Detail))
		if f.Hint != "" {
			hints = append(hints, f.Hint)
		}
	}
	err := fmt.Errorf("%s %s does not work here: %s", p.Kind, p.Name, strings.Join(why, "; "))
	return hinted(err, "%s", cmp.Or(strings.Join(hints, "; "), "tare doctor says what works on this machine"))
}

func newDoctor(s State) *cobra.Command {
	var out, cluster, namespace string
	var try bool
	c := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "Test which layers and workloads work on this machine or a cluster",
		Long: `Examine the testbed, every layer and every workload: each works, is refused by this
system (with the reason), or misses a program (with the command that installs it). The
programs that make PNG and PDF of reports are examined, too. Each finding comes from a
try. With FILE, only the parts that this experiment needs are examined, including
the programs in it; the exit code is 1 if it cannot run here.

On a cluster (--context, or a FILE whose testbed is kubernetes), doctor checks each right
that a run needs, and sends the pods and other objects to the API server as dry runs:
nothing is created. For a missing right it prints the command that grants it. A run in an
existing namespace, which --namespace or testbed.kubernetes.namespace names, needs the
fewest rights. Otherwise each arm has a namespace of its own, and the output states
whether the rights can be confined to those.

With --try, doctor sets up every arm of FILE as a run does, instead of dry runs: it creates
sites or pods and waits for them, applies every layer, makes every proof that comes before a
trial once (on in its arm, off in the others), and takes all down again. Nothing is
measured. tare clean removes the leftovers of a killed --try.`,
		Example: `  tare doctor
  tare doctor examples/quickstart.yaml
  tare doctor --context staging --namespace bench
  tare doctor --context staging
  tare doctor --context staging examples/quickstart-kubernetes.yaml
  tare doctor --try experiment.yaml
  tare doctor -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case try && len(args) == 0:
				return hintedUsage(errors.New("--try needs the experiment whose arms are to be set up"), "tare doctor --try FILE")
			case try && cluster+namespace != "":
				return hintedUsage(errors.New("--try sets the arms up where the file says, and not where --context or --namespace do"), "name them in the file: testbed: {kubernetes: {context: …, namespace: …}}")
			case cluster+namespace == "":
				if err := tryNamespace(); err != nil {
					return err
				}
			}
			parts, err := diagnose(c.Context(), s, args, cluster, namespace, try)
			if parts == nil && err != nil {
				return err
			}
			if err := errors.Join(printParts(s, parts, out), err); err != nil {
				return err
			}
			if len(args)+len(cluster)+len(namespace) > 0 && slices.ContainsFunc(parts, part.unusable) {
				return exit(exitError)
			}
			return nil
		},
	}
	c.Flags().StringVar(&cluster, "context", "", "context of the kubeconfig: examine that cluster")
	c.Flags().StringVarP(&namespace, "namespace", "n", "", "existing namespace, for a run that creates none")
	c.Flags().BoolVar(&try, "try", false, "set up every arm of FILE, make its proofs, and take all down again")
	addFormat(c, &out, "table", "json", "yaml")
	return c
}

// diagnose examines the parts that an experiment file needs; without a file, a cluster or this machine. With try =
// true, diagnose sets up the file's arms after the examination.
func diagnose(ctx context.Context, s State, args []string, cluster, namespace string, try bool) ([]part, error) {
	if len(args) == 0 {
		if cluster != "" || namespace != "" {
			return examineCluster(ctx, nil, cluster, namespace, true)
		}
		return append(append(examine(ctx, func(string, string) bool { return true }, nil), limits()), part{optionKind, "left-over processes", local.ProbePrograms()}, part{optionKind, "png and pdf", render.Probe(ctx)}), nil
	}
	x, err := load(ctx, s, args[0])
	if err != nil {
		return nil, err
	}
	parts := append(slices.Concat(examine(ctx, neededBy(x), x), programs(ctx, x), references(x)), limits())
	if cluster != "" || namespace != "" || x.Testbed.Kubernetes != nil {
		there, err := examineCluster(ctx, x, cluster, namespace, !try)
		if parts = append(parts, there...); err != nil {
			return nil, err
		}
	}
	if !try || slices.ContainsFunc(parts, part.unusable) {
		return parts, nil
	}
	arms, err := tryArms(ctx, s, x)
	return append(parts, arms...), err
}

type selection func(kind, name string) bool

func neededBy(x *experiment.Experiment) selection {
	need := map[string]bool{}
	network := false
	for _, a := range x.Arms {
		for _, l := range a.Layers {
			need["layer "+l.Kind] = true
			network = network || l.Config.Declare().Needs.Network
		}
	}
	for _, w := range x.Workloads {
		need["workload "+w.Kind] = true
		network = network || w.Config.Declare().Needs.Network
	}
	if x.Testbed.Name() != experiment.TestbedLocal {
		return func(string, string) bool { return false } // on a cluster, no part of this machine is needed
	}
	need["testbed local"] = network
	need["testbed "+volumePart] = slices.ContainsFunc(x.Workloads, func(w experiment.WorkloadItem) bool { return w.Config.Declare().Needs.Volume != nil })
	return func(kind, name string) bool { return need[kind+" "+name] }
}

// examine probes the selected parts of this machine. If an experiment is given, a layer.Prober is probed only for the
// experiment's parameters.
func examine(ctx context.Context, want selection, x *experiment.Experiment) []part {
	var parts []part
	add := func(kind, name string, probe func(context.Context) []testbed.Finding) {
		if want(kind, name) {
			parts = append(parts, part{kind, name, probe(ctx)})
		}
	}
	add("testbed", "local", local.Probe)
	add("testbed", volumePart, local.ProbeVolume)
	for _, k := range catalog.Layers {
		add("layer", k.Name, probeOf(k, x))
	}
	for _, k := range catalog.Workloads {
		add("workload", k.Name, k.Probe)
	}
	return parts
}

func probeOf(k layer.Kind, x *experiment.Experiment) func(context.Context) []testbed.Finding {
	var ways []layer.Prober
	if x != nil {
		for _, a := range x.Arms {
			for _, l := range a.Layers {
				if way, ok := l.Config.(layer.Prober); ok && l.Kind == k.Name {
					ways = append(ways, way)
				}
			}
		}
	}
	if len(ways) == 0 {
		return k.Probe
	}
	return func(ctx context.Context) (all []testbed.Finding) {
		for _, way := range ways {
			for _, f := range way.Probe(ctx) {
				if !slices.Contains(all, f) {
					all = append(all, f)
				}
			}
		}
		return all
	}
}

func printParts(s State, parts []part, out string) error {
	if out != "table" {
		return encode(s.Stdout, parts, out)
	}
	table := [][]string{{"PART", "NAME", "WAY", "STATUS", "DETAIL"}}
	for _, p := range parts {
		for _, f := range p.Findings {
			detail := f.Detail
			if f.Hint != "" {
				if detail != "" {
					detail += "; "
				}
				detail += "try: " + f.Hint
			}
			table = append(table, []string{p.Kind, p.Name, f.Name, string(f.Status), safetext.Name(detail)})
		}
	}
	s.lines().rows("", table)
	return nil
}

// ready returns an error if this machine lacks something that the experiment needs. It may restart this command in a
// user namespace (inNamespace).
func ready(ctx context.Context, x *experiment.Experiment) error {
	if err := inNamespace(neededBy(x)("testbed", "local")); err != nil {
		return err
	}
	for _, p := range append(examine(ctx, neededBy(x), x), programs(ctx, x)...) {
		if p.unusable() && len(p.Findings) > 0 {
			return p.problem()
		}
	}
	return nil
}

// programs examines the programs on this machine that the experiment needs, and tries each wrapper among them.
func programs(ctx context.Context, x *experiment.Experiment) []part {
	return each(x.ProgramsHere(), func(p experiment.Program) part {
		return part{"program", p.Name, []testbed.Finding{findProgram(ctx, p)}}
	})
}

func findProgram(ctx context.Context, p experiment.Program) testbed.Finding {
	f := testbed.Finding{Name: "program", Status: testbed.Works}
	where := p.Name
	if filepath.Base(where) != where && !filepath.IsAbs(where) && p.Dir != "" {
		where = filepath.Join(p.Dir, where)
	}
	path, err := exec.LookPath(where)
	if err != nil {
		f.Status, f.Detail = testbed.Missing, err.Error()
		f.Hint = cmp.Or(p.Hint, "install it, or correct its name in the experiment file")
		return f
	}
	f.Detail = path
	if len(p.Front) > 0 {
		tried := wrapper.Works(ctx, p.Front, "")
		f.Status, f.Detail = tried.Status, tried.Detail
	}
	return f
}
