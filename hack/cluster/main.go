// Command cluster brings up a real two-node Kubernetes on this machine for
// tests, and takes it down without a trace. docs/test-cluster.md tells what it
// is and how to use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tare/hack/cluster/cluster"
	"tare/hack/cluster/machine"
)

const usage = `usage: cluster [--name NAME] [--state DIR] COMMAND

  up [--gvisor=false] [--kwok N] [--istio] [--istio-revision NAME]
     [--policy ENGINE] [--audit LEVEL]
     [--encryption PROVIDER] [--apiserver-arg FLAG]... [--keep] [--source DIR]
                        bring the cluster up, unless it is up
  compile [--gvisor=false] [--kwok N] [--istio] [--policy ENGINE] [--dry-run] [--source DIR]
                        only compile what up would have to compile; --dry-run names it
  down                  take it down and leave nothing of it
  status                show its machines and what runs on them
  kubectl ARG...        run kubectl on it
  load ARCHIVE...       give its nodes the images of a docker or OCI archive
  exec MACHINE ARG...   run a command on control-plane, node1 or node2
  stop MACHINE PART     stop a part such as kubelet or kube-apiserver
  kill MACHINE PART     the same with SIGKILL
  start MACHINE PART    start it again as it was
  check                 say whether this machine can run a cluster
`

func main() {
	machine.RunInit()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := report(run(ctx, os.Args[1:]))
	stop()
	os.Exit(status)
}

// report writes what went wrong and returns the exit status.
func report(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1) // of a command of the user's, which has said why
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	return 1
}

var errUsage = errors.New("usage")

func run(ctx context.Context, args []string) error {
	global := newFlags()
	name := global.String("name", "test", "")
	state := global.String("state", cluster.DefaultBase, "")
	if global.Parse(args) != nil || global.NArg() == 0 {
		return errUsage
	}
	c, err := cluster.New(*name, *state, os.Stderr)
	if err != nil {
		return err
	}
	command, args := global.Arg(0), global.Args()[1:]
	switch {
	case command == "up":
		return up(ctx, c, args)
	case command == "compile":
		return compile(ctx, c, args)
	case command == "down" && len(args) == 0:
		return c.Down(ctx)
	case command == "status" && len(args) == 0:
		return c.Status(os.Stdout)
	case command == "check" && len(args) == 0:
		return cluster.Check()
	case command == "kubectl":
		kubectl, err := c.Kubectl(args...)
		if err != nil {
			return err
		}
		return foreground(kubectl)
	case command == "load" && len(args) > 0:
		return c.Load(ctx, args...)
	case command == "exec" && len(args) > 1:
		inside, err := c.Exec(args[0], args[1:]...)
		if err != nil {
			return err
		}
		return foreground(inside)
	case slices.Contains([]string{"stop", "kill", "start"}, command) && len(args) == 2:
		m, err := c.Machine(args[0])
		if err != nil {
			return err
		}
		switch part := args[1]; command {
		case "stop":
			return m.Stop(part)
		case "kill":
			return m.KillProgram(part)
		default:
			return m.Restart(part)
		}
	}
	return errUsage
}

// options are those of up and compile, to which a command adds flags of its own.
func options(flags *flag.FlagSet, args []string) (cluster.Options, error) {
	var o cluster.Options
	flags.BoolVar(&o.GVisor, "gvisor", true, "")
	flags.IntVar(&o.Kwok, "kwok", 0, "")
	flags.BoolVar(&o.Istio, "istio", false, "")
	flags.Func("istio-revision", "", func(name string) error {
		o.Istio, o.IstioRevision = true, name
		return nil
	})
	flags.StringVar(&o.Policy, "policy", "", "")
	flags.StringVar(&o.Audit, "audit", "", "")
	flags.StringVar(&o.Encryption, "encryption", "", "")
	flags.BoolVar(&o.Keep, "keep", false, "")
	flags.StringVar(&o.Source, "source", source(), "")
	flags.Func("apiserver-arg", "", func(arg string) error {
		o.APIServerArgs = append(o.APIServerArgs, arg)
		return nil
	})
	if flags.Parse(args) != nil || flags.NArg() > 0 || o.Kwok < 0 {
		return o, errUsage
	}
	return o, nil
}

// compile makes what up would need, or says that some of it is missing.
func compile(ctx context.Context, c *cluster.Cluster, args []string) error {
	flags := newFlags()
	dry := flags.Bool("dry-run", false, "")
	o, err := options(flags, args)
	switch {
	case err != nil:
		return err
	case !*dry:
		return c.Compile(ctx, o)
	}
	missing, err := cluster.Missing(ctx, o)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("not compiled yet: %s", strings.Join(missing, ", "))
	}
	return err
}

func up(ctx context.Context, c *cluster.Cluster, args []string) error {
	o, err := options(newFlags(), args)
	if err != nil {
		return err
	}
	if err := c.Up(ctx, o); err != nil {
		return err
	}
	hosts, err := c.Hosts()
	if err != nil {
		return err
	}
	fmt.Printf(`
Cluster %s is up: nodes node1 and node2, images tare.test/tools:1 and tare.test/pause:1
(imagePullPolicy: Never or IfNotPresent), storage classes hostpath (default) and local.

  export KUBECONFIG=%s    # for kubectl and others on this machine
  %s kubectl get nodes
`, c.Name, c.Kubeconfig(), self(c))
	for _, what := range hosts {
		fmt.Printf("\nIt has %s.\n", what)
	}
	return nil
}

// self is how to call this program for this cluster.
func self(c *cluster.Cluster) string {
	words := []string{os.Args[0], "--name", c.Name}
	if c.Base != cluster.DefaultBase {
		words = append(words, "--state", strconv.Quote(c.Base))
	}
	return strings.Join(words, " ")
}

// source is the directory that this program was compiled from, and in which
// the nested modules are.
func source() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

func newFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.Usage = func() {}
	flags.SetOutput(io.Discard)
	return flags
}

func foreground(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
