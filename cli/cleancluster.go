package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tare/safetext"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// leftOnCluster says on which cluster to look for what runs have left.
type leftOnCluster struct{ context, kubeconfig, namespace string }

func (l *leftOnCluster) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.context, "context", "", "clean a cluster in place of this machine: context of the kubeconfig")
	c.Flags().StringVar(&l.kubeconfig, "kubeconfig", "", "clean a cluster: kubeconfig in place of the usual ones")
	c.Flags().StringVarP(&l.namespace, "namespace", "n", "", "on a cluster, look in one namespace only, for who may not look in all")
}

// asked says whether a cluster is to be cleaned.
func (l *leftOnCluster) asked(c *cobra.Command) bool {
	return c.Flags().Changed("context") || c.Flags().Changed("kubeconfig") || c.Flags().Changed("namespace")
}

// clean removes what runs whose Tare is gone have left on the cluster, or says
// that it would. What belongs to runs that live is named on stderr.
func (l *leftOnCluster) clean(ctx context.Context, s State, dirs []string, dry bool) error {
	if len(dirs) > 0 {
		return hintedUsage(fmt.Errorf("%s is a directory of this machine, and a cluster is to be cleaned", dirs[0]), "clean one after the other: tare clean %s", dirs[0])
	}
	o := cluster.Options{Kubeconfig: l.kubeconfig, Version: Version(), Say: func(line string) { fmt.Fprintln(s.Stderr, safetext.Name(line)) }}
	left, bad := inventory.Left(ctx, o, l.context, l.namespace) // what was found counts beside an error
	found := 0
	for _, one := range left {
		if one.Alive {
			fmt.Fprintf(s.Stderr, "run %s is at work: %s\n", one.Owner, safetext.Name(one.Holder))
			continue
		}
		found++
		if dry {
			printLeft(s, "would remove", one)
			for _, object := range one.Foreign {
				fmt.Fprintf(s.Stdout, "would leave %s of run %s, because the record that lists it is in a namespace that is not Tare's\n", safetext.Name(object), one.Owner)
			}
		}
	}
	if found == 0 && bad == nil {
		fmt.Fprintln(s.Stderr, "nothing left behind")
	}
	if found == 0 || dry {
		return bad
	}
	removed, err := inventory.Clean(ctx, o, l.context, l.namespace)
	for _, one := range removed {
		printLeft(s, "removed", one)
	}
	if errors.Is(err, context.Canceled) {
		return exit(ExitInterrupted)
	}
	return err
}

func printLeft(s State, verb string, l inventory.Leftover) {
	for _, object := range l.Objects {
		fmt.Fprintf(s.Stdout, "%s %s of run %s (%s)\n", verb, safetext.Name(object), l.Owner, safetext.Name(l.Holder))
	}
}
