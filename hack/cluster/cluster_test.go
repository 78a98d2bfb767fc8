package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/hack/cluster/cluster"
	"tare/hack/cluster/image"
	"tare/hack/image/tree"
)

// TestCluster brings a cluster up, does on it what Tare's own tests rely on,
// takes it down, and compares the machine with what it was before.
func TestCluster(t *testing.T) {
	requireCluster(t)
	before := takeTrace(t)
	name := testName("a")
	t.Cleanup(func() { must(t, name, "down") })
	must(t, name, "up")
	inside := insideTrace(t, name)

	kubectl := func(t *testing.T, args ...string) string {
		t.Helper()
		return must(t, name, append([]string{"kubectl"}, args...)...)
	}
	apply := func(t *testing.T, file string) {
		t.Helper()
		kubectl(t, "apply", "--filename=testdata/"+file)
	}
	ready := func(t *testing.T, pods ...string) {
		t.Helper()
		if out, err := try(name, append([]string{"kubectl", "wait", "--for=condition=Ready", "--timeout=90s"}, pods...)...); err != nil {
			t.Fatalf("%v%s%s", err, out, kubectl(t, "get", "events"))
		}
	}
	done := func(t *testing.T, args ...string) {
		t.Helper()
		if out, err := try(name, append([]string{"kubectl", "wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=90s"}, args...)...); err != nil {
			t.Fatalf("%v%s%s", err, out, kubectl(t, "get", "events", "--all-namespaces"))
		}
	}
	expect := func(t *testing.T, what, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", what, got, want)
		}
	}

	t.Run("up again changes nothing", func(t *testing.T) {
		if again := must(t, name, "up"); !strings.Contains(again, "is up") {
			t.Errorf("got %q", again)
		}
		for kind, id := range insideTrace(t, name) {
			if inside[kind] != id {
				t.Errorf("%s was %s and is %s", kind, inside[kind], id)
			}
		}
	})

	apply(t, "pods.yaml")
	ready(t, "pod/server", "pod/client")

	t.Run("exec and logs", func(t *testing.T) {
		expect(t, "exec on node1", kubectl(t, "exec", "server", "--container=web", "--", "hostname"), "server")
		expect(t, "exec on node2", kubectl(t, "exec", "client", "--", "hostname"), "client")
		expect(t, "logs", kubectl(t, "logs", "server", "--container=web"), "serving")
	})
	t.Run("Service across nodes", func(t *testing.T) {
		ip := kubectl(t, "get", "service", "server", "--output=jsonpath={.spec.clusterIP}")
		if !strings.HasPrefix(ip, "10.96.") {
			t.Fatalf("Service address %q", ip)
		}
		expect(t, "page", kubectl(t, append([]string{"exec", "client", "--"}, fetch(ip)...)...), "hello from server")
		expect(t, "iperf3", kubectl(t, "exec", "client", "--", "iperf3", "--client", ip, "--bytes", "1M"), "iperf Done.")
	})
	t.Run("names", func(t *testing.T) { testNames(t, name) })
	t.Run("webhook in a pod", func(t *testing.T) { testWebhook(t, name) })
	t.Run("limits are real", func(t *testing.T) {
		out := kubectl(t, "exec", "client", "--", "sh", "-c",
			"cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max")
		expect(t, "memory limit", out, "67108864")
	})
	t.Run("stats summary", func(t *testing.T) {
		// The kubelet looks at its containers every 10 s or so.
		eventually(t, "CPU and memory of pod server in node1's stats summary", func() error {
			var summary struct {
				Pods []struct {
					PodRef struct{ Name string }
					CPU    struct{ UsageCoreNanoSeconds uint64 }
					Memory struct{ WorkingSetBytes uint64 }
				}
			}
			out := kubectl(t, "get", "--raw=/api/v1/nodes/node1/proxy/stats/summary")
			if err := json.Unmarshal([]byte(out), &summary); err != nil {
				return err
			}
			for _, pod := range summary.Pods {
				if pod.PodRef.Name == "server" && pod.CPU.UsageCoreNanoSeconds > 0 && pod.Memory.WorkingSetBytes > 0 {
					return nil
				}
			}
			return fmt.Errorf("%+v", summary)
		})
	})
	t.Run("gVisor", func(t *testing.T) {
		apply(t, "gvisor.yaml")
		ready(t, "pod/sandboxed")
		expect(t, "dmesg", kubectl(t, "exec", "sandboxed", "--", "dmesg"), "Starting gVisor")
		if out := kubectl(t, "exec", "client", "--", "uname", "-a"); strings.Contains(out, "gvisor") {
			t.Errorf("the pod without the RuntimeClass is in gVisor, too: %s", out)
		}
		ip := kubectl(t, "get", "service", "server", "--output=jsonpath={.spec.clusterIP}")
		expect(t, "page", kubectl(t, append([]string{"exec", "sandboxed", "--"}, fetch(ip)...)...), "hello from server")
	})
	t.Run("volumes", func(t *testing.T) {
		apply(t, "volumes.yaml")
		done(t, "pod/writer")
		done(t, "pod/writer", "--namespace=strict")
		apply(t, "reader.yaml")
		done(t, "pod/reader")
		expect(t, "size on the other node", kubectl(t, "logs", "reader"), "4194304")
	})
	t.Run("Pod Security", func(t *testing.T) {
		_, err := try(name, "kubectl", "create", "--filename=testdata/privileged.yaml")
		if err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`) {
			t.Errorf("a privileged pod in a restricted namespace: %v", err)
		}
	})
	t.Run("load an image", func(t *testing.T) {
		busybox, err := exec.LookPath("busybox")
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(busybox)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := image.Image{
			Reference: "tare.test/loaded:1",
			Files:     tree.Tree{"/busybox": {Mode: 0o755, Content: content}},
		}.Cached(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		must(t, name, "load", archive)
		kubectl(t, "run", "loaded", "--image=tare.test/loaded:1", "--image-pull-policy=Never", "--restart=Never",
			"--command", "--", "/busybox", "echo", "from an archive")
		done(t, "pod/loaded")
		expect(t, "its log", kubectl(t, "logs", "loaded"), "from an archive")
	})
	t.Run("parts stop and start", func(t *testing.T) {
		must(t, name, "kill", "control-plane", "kube-apiserver")
		if _, err := try(name, "kubectl", "get", "nodes"); err == nil {
			t.Error("the API answers although its server is killed")
		}
		expect(t, "status", must(t, name, "status"), "ended by SIGKILL")
		must(t, name, "start", "control-plane", "kube-apiserver")
		eventually(t, "the API server", func() error {
			_, err := try(name, "kubectl", "get", "--raw=/readyz")
			return err
		})
		must(t, name, "stop", "node2", "kubelet")
		expect(t, "status", must(t, name, "status"), "exit status 0")
		must(t, name, "start", "node2", "kubelet")
		eventually(t, "exec by a kubelet that started again", func() error {
			out, err := try(name, "kubectl", "exec", "client", "--", "hostname")
			if err == nil && strings.TrimSpace(out) != "client" {
				return fmt.Errorf("hostname %q", out)
			}
			return err
		})
	})
	t.Run("exec on a machine", func(t *testing.T) {
		expect(t, "iptables", must(t, name, "exec", "node1", "iptables", "--table=nat", "--list-rules"), "KUBE-SERVICES")
	})

	must(t, name, "down")
	before.expectSame(t)
	inside.expectGone(t)
	must(t, name, "down") // nothing is nothing to complain about
}

// TestTwoAtOnce has two clusters up side by side.
func TestTwoAtOnce(t *testing.T) {
	requireCluster(t)
	before := takeTrace(t)
	names := []string{testName("b"), testName("c")}
	ups := map[string]*exec.Cmd{}
	for _, name := range names {
		t.Cleanup(func() { must(t, name, "down") })
		ups[name] = command(name, "up", "--gvisor=false")
		if err := ups[name].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if err := ups[name].Wait(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, name := range names {
		if out := must(t, name, "kubectl", "config", "current-context"); strings.TrimSpace(out) != "tare-"+name {
			t.Errorf("context %q of %s", out, name)
		}
		must(t, name, "kubectl", "wait", "--for=condition=Ready", "--timeout=30s", "node/node1", "node/node2")
		if out := must(t, name, "kubectl", "get", "runtimeclass", "--output=name"); out != "" {
			t.Errorf("runtime classes although gVisor was not wanted: %s", out)
		}
	}
	for _, name := range names {
		must(t, name, "down")
	}
	before.expectSame(t)
}

// TestKilled kills the command that brings a cluster up, at several points, and
// sees that both down and another up clear away what it left.
func TestKilled(t *testing.T) {
	requireCluster(t)
	before := takeTrace(t)
	name := testName("d")
	t.Cleanup(func() { must(t, name, "down") })
	for _, point := range []string{"machines and network", "API server ready", "images imported"} {
		killAfter(t, name, point)
		must(t, name, "down")
		before.expectSame(t)
	}
	killAfter(t, name, "API server ready")
	if out := must(t, name, "status"); !strings.Contains(out, "not up") {
		t.Errorf("status of a cluster whose making was killed: %s", out)
	}
	must(t, name, "up", "--gvisor=false")
	must(t, name, "kubectl", "wait", "--for=condition=Ready", "--timeout=30s", "node/node1", "node/node2")
	must(t, name, "down")
	before.expectSame(t)
}

// TestInterrupted: a user who presses Ctrl-C while a cluster comes up gets the
// machine back as it was.
func TestInterrupted(t *testing.T) {
	requireCluster(t)
	before := takeTrace(t)
	name := testName("f")
	t.Cleanup(func() { must(t, name, "down") })
	if status := signalAfter(t, name, "machines and network", os.Interrupt); status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	before.expectSame(t)
}

// killAfter starts up and kills it with SIGKILL when it reports a step.
func killAfter(t *testing.T, name, step string) {
	t.Helper()
	if status := signalAfter(t, name, step, os.Kill); status != -1 {
		t.Fatalf("up came to its end, with exit status %d, before it was killed after %q", status, step)
	}
}

// signalAfter starts up, sends it a signal when it reports a step, and returns
// its exit status, -1 if the signal ended it.
func signalAfter(t *testing.T, name, step string, signal os.Signal) int {
	t.Helper()
	cmd := command(name, "up", "--gvisor=false")
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	sent := false
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		seen.WriteString(lines.Text() + "\n")
		if !sent && strings.HasSuffix(lines.Text(), step) {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			sent = true
		}
	}
	err = cmd.Wait()
	if !sent {
		t.Fatalf("up never said %q: %v\n%s", step, err, seen.String())
	}
	return cmd.ProcessState.ExitCode()
}

// TestFails sees that a part that does not start is named with its log, and
// that nothing is left of the attempt.
func TestFails(t *testing.T) {
	requireCluster(t)
	before := takeTrace(t)
	name := testName("e")
	_, err := try(name, "up", "--gvisor=false", "--apiserver-arg=--no-such-flag")
	if err == nil {
		t.Fatal("up succeeded with a flag that the API server does not know")
	}
	for _, want := range []string{
		"waiting for the API server to be ready", "kube-apiserver on control-plane: exit status 1", "unknown flag: --no-such-flag",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	before.expectSame(t)
	if out := must(t, name, "status"); !strings.Contains(out, "There is no cluster "+name+" below "+cluster.DefaultBase) {
		t.Errorf("status after a failed up: %s", out)
	}
}

// eventually asks again until check succeeds, for a minute at most.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s: %v", what, err)
		}
	}
}

// fetch gets the page of a service. A node knows the service's pods a moment after
// they are ready.
func fetch(ip string) []string {
	return []string{"sh", "-c", "for try in $(seq 30); do wget -q -O - http://" + ip + "/ && exit; sleep 1; done; exit 1"}
}
