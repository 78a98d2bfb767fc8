package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"text/tabwriter"
)

// Status writes what there is of the cluster.
func (c *Cluster) Status(w io.Writer) error {
	r, err := c.read()
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(w, "There is no cluster %s below %s.\n", c.Name, c.Base)
		return nil
	}
	if err != nil {
		return err
	}
	state := "not up: it did not come up, or is coming up"
	if r.Ready {
		state = "up"
	}
	fmt.Fprintf(w, "cluster %s: %s\nkubeconfig %s\n", c.Name, state, c.Kubeconfig())
	for _, what := range r.Hosts {
		fmt.Fprintf(w, "with %s\n", what)
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MACHINE\tPID\tPART\tSTATE\tLOG")
	for _, m := range c.machines() {
		pid, err := m.PID()
		if err != nil {
			return err
		}
		if pid == 0 {
			fmt.Fprintf(table, "%s\t-\t-\tdoes not run\t%s\n", m.Hostname, m.LogFile("init"))
			continue
		}
		programs, err := m.Programs()
		if err != nil {
			return err
		}
		for _, p := range programs {
			state := "running"
			if !p.Running {
				state = p.Ended
			}
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", m.Hostname, pid, p.Name, state, m.LogFile(p.Name))
		}
	}
	return table.Flush()
}

// Hosts is what the cluster was brought up with that others have not.
func (c *Cluster) Hosts() ([]string, error) {
	r, err := c.mustRead()
	return r.Hosts, err
}

// Kubectl is kubectl for the cluster, of the cluster's version.
func (c *Cluster) Kubectl(args ...string) (*exec.Cmd, error) {
	r, err := c.mustRead()
	if err != nil {
		return nil, err
	}
	own := []string{"kubectl", "--kubeconfig=" + c.Kubeconfig(), "--cache-dir=" + filepath.Join(c.Dir(), "kubectl-cache")}
	return exec.Command(filepath.Join(r.Bin, "kk"), append(own, args...)...), nil
}

// Load gives the nodes the images of archives, docker's or OCI's.
func (c *Cluster) Load(ctx context.Context, archives ...string) error {
	if _, err := c.mustRead(); err != nil {
		return err
	}
	for n := 1; n <= Nodes; n++ {
		for _, archive := range archives {
			if err := (node{cluster: c, n: n}).load(ctx, archive); err != nil {
				return err
			}
		}
	}
	return nil
}

// Exec is a command in all the namespaces of one of the machines.
func (c *Cluster) Exec(name string, args ...string) (*exec.Cmd, error) {
	m, err := c.Machine(name)
	if err != nil {
		return nil, err
	}
	pid, err := m.PID()
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return nil, fmt.Errorf("%s of cluster %s does not run", name, c.Name)
	}
	enter := []string{"--target", strconv.Itoa(pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--"}
	return exec.Command("nsenter", append(enter, args...)...), nil
}

func (c *Cluster) mustRead() (record, error) {
	r, err := c.read()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no cluster %s below %s: bring it up first", c.Name, c.Base)
	}
	return r, err
}
