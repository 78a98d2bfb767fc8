package kube

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/kubetest"
)

// proxy is between Tare and the API server, and can be interrupted.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	conns []net.Conn
	count int
	down  bool // refuses
}

// behindProxy returns a kubeconfig with which all requests go through a proxy.
func behindProxy(t *testing.T) (path string, p *proxy) {
	t.Helper()
	raw, err := clientcmd.LoadFromFile(kubetest.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = &proxy{listener: listener}
	for _, c := range raw.Clusters {
		server, err := url.Parse(c.Server)
		if err != nil {
			t.Fatal(err)
		}
		p.to, c.Server, c.TLSServerName = server.Host, "https://"+listener.Addr().String(), server.Hostname()
	}
	path = t.TempDir() + "/kubeconfig"
	must(t, clientcmd.WriteToFile(*raw, path))
	go p.serve()
	t.Cleanup(func() {
		listener.Close()
		p.cut()
	})
	return path, p
}

func (p *proxy) serve() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		down := p.down
		p.mu.Unlock()
		to, err := net.Dial("tcp", p.to)
		if down || err != nil {
			from.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, from, to)
		p.count++
		p.mu.Unlock()
		go func() { io.Copy(to, from); to.Close() }()
		go func() { io.Copy(from, to); from.Close() }()
	}
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// refuse makes the proxy refuse new connections, or accept them again.
func (p *proxy) refuse(down bool) {
	p.mu.Lock()
	p.down = down
	p.mu.Unlock()
	if down {
		p.cut()
	}
}

// slow is a program that writes a lot of output for some seconds, and this output.
var slow = []string{"sh", "-c", "i=0; while [ $i -lt 60 ]; do seq 1000; sleep 0.1; i=$((i+1)); done"}

func slowOutput() string {
	var one strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&one, i+1)
	}
	return strings.Repeat(one.String(), 60)
}

// shellSite is a site whose image has a shell.
func shellSite(t *testing.T, bed *Testbed) *Site {
	needs := pair
	needs.Image = "tare.test/tools:1"
	level := parameters()
	level.Resources.CPU = "500m" // the program starts others all the time
	return ready(t, bed, "outage", needs, level)
}

// outlasts checks that a program keeps running while the API server does not answer, and that its result arrives
// whole afterwards.
func outlasts(t *testing.T, disturb func(*proxy)) {
	t.Helper()
	config, p := behindProxy(t)
	bed := onCluster(t)
	bed.options.Kubeconfig = config
	s := shellSite(t, bed)
	var out strings.Builder
	process, err := s.Start(t.Context(), testbed.ClientPod, testbed.Command{Args: slow, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	disturb(p)
	if _, err := process.Wait(); err != nil {
		t.Fatal(err)
	}
	if out.String() != slowOutput() {
		t.Errorf("%d bytes of output, want %d", out.Len(), len(slowOutput()))
	}
	must(t, s.Mend(t.Context()))
}

func TestExecStreamIsCut(t *testing.T) {
	t.Parallel()
	outlasts(t, (*proxy).cut)
}

func TestAPIServerCannotBeReached(t *testing.T) {
	t.Parallel()
	outlasts(t, func(p *proxy) {
		p.refuse(true)
		time.AfterFunc(3*time.Second, func() { p.refuse(false) })
	})
}

func TestAPIServerIsKilled(t *testing.T) {
	kubetest.Breaks(t)
	outlasts(t, func(*proxy) {
		kubetest.Control(t, "kill", "control-plane", "kube-apiserver")
		kubetest.Control(t, "start", "control-plane", "kube-apiserver")
	})
}

// If the API server stays away, the trial is invalid when the patience ends, and nothing hangs.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	config, p := behindProxy(t)
	bed := onCluster(t)
	bed.options.Kubeconfig = config
	level := parameters()
	level.Timeouts.Connect = quantity.Duration(6 * time.Second) // on a busy machine an exec takes longer than a second
	level.Timeouts.Request = quantity.Duration(2 * time.Second)
	level.Timeouts.Ready = quantity.Duration(60 * time.Second)
	s := ready(t, bed, "away", experiment.Needs{Network: true}, level)
	process, err := s.Start(t.Context(), testbed.ServerPod, testbed.Command{Args: []string{"iperf3", "-s"}})
	if err != nil {
		t.Fatal(err)
	}
	p.refuse(true)
	_, err = process.Wait()
	var lost *testbed.Disturbance
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "/server on node ") {
		t.Errorf("got %v, want a disturbance", err)
	}
	t.Log(err)
	p.refuse(false)
	must(t, s.Mend(t.Context()))
	transfer(t, s, testbed.PodToPod)
}

// The run waits for a kubelet that has stopped, and then uses the same pod.
func TestKubeletStopped(t *testing.T) {
	kubetest.Breaks(t)
	bed := onCluster(t)
	level := parameters()
	level.Timeouts.Connect = quantity.Duration(3 * time.Second)
	s := ready(t, bed, "kubelet", pair, level)
	node := s.pods[testbed.ServerPod].Node()
	uid := s.pods[testbed.ServerPod].UID()
	process, err := s.Start(t.Context(), testbed.ServerPod, testbed.Command{Args: []string{"iperf3", "-s"}})
	if err != nil {
		t.Fatal(err)
	}
	kubetest.Control(t, "kill", node, "kubelet")
	started := sync.OnceFunc(func() { kubetest.Control(t, "start", node, "kubelet") })
	t.Cleanup(started)
	_, err = process.Wait()
	var lost *testbed.Disturbance
	if !errors.As(err, &lost) {
		t.Errorf("got %v, want a disturbance", err)
	}
	t.Log(err)
	mended := make(chan error, 1)
	go func() { mended <- s.Mend(t.Context()) }()
	started()
	must(t, <-mended)
	if now := s.pods[testbed.ServerPod].UID(); now != uid {
		t.Errorf("pod %s was replaced by %s", uid, now)
	}
	transfer(t, s, testbed.PodToPod)
}
