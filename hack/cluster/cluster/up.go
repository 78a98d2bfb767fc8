package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tare/hack/cluster/cgroup"
	"tare/hack/cluster/machine"
	"tare/hack/cluster/network"
)

// How long the steps may take: many times what they take on a busy machine.
const (
	apiLimit     = 2 * time.Minute
	runtimeLimit = time.Minute
	importLimit  = 3 * time.Minute
	nodeLimit    = 2 * time.Minute
	productLimit = 4 * time.Minute
)

// Options are what a cluster can differ in.
type Options struct {
	Source        string   // directory of the sources of kk and gVisor
	GVisor        bool     // give it the RuntimeClass gvisor
	Kwok          int      // as many nodes that only pretend, beside the real ones
	Istio         bool     // install it, with sidecars
	IstioRevision string   // install it as a revision, which namespaces name in the label istio.io/rev; "": default
	Policy        string   // engine to install that decides about objects; none if empty
	Audit         string   // level at which the API server writes all requests to its log; none if empty
	Encryption    string   // provider by which the API server encrypts Secrets in etcd; none if empty
	APIServerArgs []string // more flags for the API server
	Keep          bool     // leave a cluster that did not come up, for a look at it
}

// Up brings the cluster up. If it is up already, Up leaves it as it is; if
// something is left of it, Up removes that first. A cluster that does not come
// up is taken down again.
func (c *Cluster) Up(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := Check(); err != nil {
		return fmt.Errorf("this machine cannot run a test cluster:\n%w", err)
	}
	supplies, err := c.supplies(ctx, o)
	if err != nil {
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	switch r, err := c.read(); {
	case err == nil && r.Ready:
		if up, err := running(c.machines()); err != nil || up {
			fmt.Fprintf(c.Log, "cluster %s is up already\n", c.Name)
			return errors.Join(err, c.lacks(r, o))
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := c.remove(ctx); err != nil {
		return err
	}
	if err := c.bringUp(ctx, o, supplies); err != nil {
		if o.Keep {
			return fmt.Errorf("%w\n(all of cluster %s is left as it is, with its logs in %s)", err, c.Name, c.Dir())
		}
		return errors.Join(err, c.remove(context.WithoutCancel(ctx)))
	}
	return nil
}

// bringUp makes the cluster from nothing.
func (c *Cluster) bringUp(ctx context.Context, o Options, s supplies) error {
	start := time.Now()
	step := func(what string) { fmt.Fprintf(c.Log, "%5.1f s  %s\n", time.Since(start).Seconds(), what) }
	r, err := c.claim(s.bin)
	if err != nil {
		return err
	}
	a, err := c.makeCredentials(r.Slot)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	var nodes []node
	for n := 1; n <= Nodes; n++ {
		nodes = append(nodes, node{cluster: c, n: n, bin: s.bin, gvisor: o.GVisor})
	}
	machines, err := c.bootMachines(ctx, nodes)
	if err != nil {
		return err
	}
	if err := c.connect(r.Slot, machines); err != nil {
		return err
	}
	step("machines and network")

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := c.startControlPlane(groupCtx, machines[0], s.bin, o, a); err != nil {
			return err
		}
		step("API server ready")
		return c.populate(groupCtx, a, nodes)
	})
	for i, d := range nodes {
		group.Go(func() error { return d.startRuntime(groupCtx, machines[i+1], s.images) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	step("images imported")

	group, groupCtx = errgroup.WithContext(ctx)
	for i, d := range nodes {
		group.Go(func() error { return d.join(groupCtx, machines[i+1], a) })
	}
	group.Go(func() error {
		on := part{machines[0], "kube-controller-manager"}
		return wait(groupCtx, nodeLimit, "the default service account", on, func(ctx context.Context) error {
			return a.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
		})
	})
	group.Go(func() error {
		return wait(groupCtx, nodeLimit, "the cluster's names", part{machines[0], "coredns"}, func(ctx context.Context) error {
			return dnsAnswers(ctx, r.Slot)
		})
	})
	if err := group.Wait(); err != nil {
		return err
	}
	step("nodes ready")
	if o.Kwok > 0 {
		if err := c.pretend(ctx, machines[0], a, s, o.Kwok); err != nil {
			return err
		}
		step(fmt.Sprintf("%d kwok nodes ready", o.Kwok))
	}
	if o.Istio {
		if err := c.installIstio(ctx, o.Source, s.bin, o.IstioRevision); err != nil {
			return err
		}
		step(istioHost + " ready")
	}
	if e := o.engine(); e != nil {
		if err := c.install(ctx, *e, o.Source); err != nil {
			return err
		}
		step(e.host() + " ready")
	}
	r.Ready, r.Hosts = true, o.hosts()
	return c.write(r)
}

// hosts says what the cluster has that others have not.
func (o Options) hosts() []string {
	var hosts []string
	if o.Istio {
		host := istioHost
		if o.IstioRevision != "" {
			host += " as revision " + o.IstioRevision
		}
		hosts = append(hosts, host)
	}
	if e := o.engine(); e != nil {
		hosts = append(hosts, e.host())
	}
	if o.Audit != "" {
		hosts = append(hosts, "an audit log of level "+o.Audit)
	}
	if o.Encryption != "" {
		hosts = append(hosts, "Secrets encrypted by "+o.Encryption)
	}
	return hosts
}

// lacks says what a cluster that is up already has not, and cannot get.
func (c *Cluster) lacks(r record, o Options) error {
	for _, wanted := range o.hosts() {
		if !slices.Contains(r.Hosts, wanted) {
			return fmt.Errorf("cluster %s was brought up without %s: take it down first, or give another --name", c.Name, wanted)
		}
	}
	return nil
}

// bootMachines makes the cluster's machines, each with what its parts need.
func (c *Cluster) bootMachines(ctx context.Context, nodes []node) ([]machine.Machine, error) {
	if err := os.Mkdir(c.hostpathDir(), 0o755); err != nil {
		return nil, err
	}
	machines := c.machines()
	group, ctx := errgroup.WithContext(ctx)
	for i, m := range machines {
		group.Go(func() error {
			if err := os.Mkdir(m.Dir, 0o755); err != nil {
				return err
			}
			setup := machine.Setup{
				Hostname: m.Hostname, Shared: c.Dir(),
				Binds: []machine.Bind{{From: c.hostpathDir(), To: "/tmp/hostpath_pv"}},
			}
			if i > 0 {
				if err := nodes[i-1].prepare(); err != nil {
					return err
				}
				if err := cgroup.Make(c.cgroupName(m.Hostname)); err != nil {
					return err
				}
				setup.Binds = nodes[i-1].binds()
			}
			_, err := machine.Boot(ctx, m.Dir, setup)
			return err
		})
	}
	return machines, group.Wait()
}

func (c *Cluster) connect(slot int, machines []machine.Machine) error {
	var pids []int
	for _, m := range machines {
		pid, err := m.PID()
		if err != nil {
			return err
		}
		if pid == 0 {
			return fmt.Errorf("machine %s has ended: %s", m.Hostname, machine.Tail(m.LogFile("init"), logLines))
		}
		pids = append(pids, pid)
	}
	return network.Connect(slot, pids[0], pids[1:])
}

func (c *Cluster) startControlPlane(ctx context.Context, m machine.Machine, bin string, o Options, a *api) error {
	flags, err := o.apiServerFlags(m.Dir)
	if err != nil {
		return err
	}
	for _, p := range []machine.Program{c.datastore(bin), c.apiServer(bin, flags)} {
		if err := m.Start(p); err != nil {
			return err
		}
	}
	err = wait(ctx, apiLimit, "the API server to be ready", part{m, "kube-apiserver"}, func(ctx context.Context) error {
		return a.get(ctx, "/readyz", nil)
	})
	if err != nil {
		return err
	}
	for _, p := range []machine.Program{c.controllers(bin), c.scheduler(bin)} {
		if err := m.Start(p); err != nil {
			return err
		}
	}
	return c.startDNS(m, bin)
}

// startRuntime starts containerd and gives it the images.
func (d node) startRuntime(ctx context.Context, m machine.Machine, images []string) error {
	program, err := d.containerd()
	if err != nil {
		return err
	}
	if err := m.Start(program); err != nil {
		return err
	}
	err = wait(ctx, runtimeLimit, "containerd on "+d.name(), part{m, "containerd"}, func(context.Context) error {
		conn, err := net.Dial("unix", d.containerdSocket())
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		return err
	}
	for _, archive := range images {
		if err := d.load(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

// load imports an image archive, docker's or OCI's.
func (d node) load(ctx context.Context, archive string) error {
	ctx, cancel := context.WithTimeout(ctx, importLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ctr", "--address", d.containerdSocket(), "--namespace", "k8s.io", "images", "import", archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("import %s on %s (limit %s): %w: %s", filepath.Base(archive), d.name(), importLimit, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// join starts the node's Kubernetes parts and waits until the node is ready and
// Services are routed on it.
func (d node) join(ctx context.Context, m machine.Machine, a *api) error {
	for _, p := range []machine.Program{d.kubelet(), d.proxy()} {
		if err := m.Start(p); err != nil {
			return err
		}
	}
	err := wait(ctx, nodeLimit, d.name()+" to be ready", part{m, "kubelet"}, func(ctx context.Context) error {
		return a.nodeReady(ctx, d.name())
	})
	if err != nil {
		return err
	}
	return wait(ctx, nodeLimit, "Services on "+d.name(), part{m, "kube-proxy"}, func(ctx context.Context) error {
		return a.get(ctx, fmt.Sprintf("/api/v1/nodes/%s:%d/proxy/healthz", d.name(), proxyHealthPort), nil)
	})
}

// nodeReady is an error, with the kubelet's reason, unless the node is ready.
func (a *api) nodeReady(ctx context.Context, name string) error {
	var n struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := a.get(ctx, "/api/v1/nodes/"+name, &n); err != nil {
		return err
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			if c.Status == "True" {
				return nil
			}
			return errors.New(c.Message)
		}
	}
	return errors.New("it has not said yet how it is")
}
