package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/hack/cluster/cluster"
)

// trace is what a cluster could leave behind on the machine, by kind.
type trace map[string][]string

// settings of the whole kernel that a kubelet or kube-proxy would like to change.
var settings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	"net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet", "net/netfilter/nf_conntrack_max",
}

// directories that the parts write to when run in the ordinary way.
var directories = []string{
	"/run", "/run/netns", "/run/lock", "/var/lib", "/var/lib/cni", "/var/lib/kubelet", "/var/log", "/var/log/pods",
	"/var/log/containers", "/etc/cni", "/etc/kubernetes", "/opt", "/tmp/hostpath_pv", "/usr/libexec/kubernetes", cluster.DefaultBase,
}

func takeTrace(t *testing.T) trace {
	t.Helper()
	tr := trace{}
	run := func(kind, name string, args ...string) {
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
		}
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, "#") {
				tr[kind] = append(tr[kind], strings.TrimSpace(line))
			}
		}
	}
	run("interfaces", "ip", "-brief", "address")
	run("routes", "ip", "route", "show", "table", "all")
	run("iptables", "iptables-save")
	run("ip6tables", "ip6tables-save")
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	tr["mounts"] = strings.Split(string(mounts), "\n")
	for _, setting := range settings {
		if value, err := os.ReadFile("/proc/sys/" + setting); err == nil {
			tr["settings"] = append(tr["settings"], setting+" = "+strings.TrimSpace(string(value)))
		}
	}
	for _, dir := range directories {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // as it may be, before and after
		}
		tr["files"] = append(tr["files"], dir)
		for _, e := range entries {
			tr["files"] = append(tr["files"], filepath.Join(dir, e.Name()))
		}
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*"} {
		groups, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			if !strings.HasPrefix(filepath.Base(group), "tare-run-") { // of a Tare that measures on this machine meanwhile
				tr["cgroups"] = append(tr["cgroups"], group)
			}
		}
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		if cmdline, err := os.ReadFile(file); err == nil && strings.Contains(string(cmdline), cluster.DefaultBase) {
			tr["processes"] = append(tr["processes"], strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	for _, lines := range tr {
		slices.Sort(lines)
	}
	return tr
}

// expectSame compares the machine with what it was. Others may use the machine
// meanwhile, so that a difference counts only if it stays.
func (before trace) expectSame(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		after := takeTrace(t)
		differ := func(kind string) bool { return !slices.Equal(before[kind], after[kind]) }
		if !slices.ContainsFunc(before.kinds(after), differ) {
			return
		}
		if time.Now().After(end) {
			for _, kind := range before.kinds(after) {
				if differ(kind) {
					t.Errorf("%s differ:\nmore: %q\nless: %q", kind, without(after[kind], before[kind]), without(before[kind], after[kind]))
				}
			}
			return
		}
	}
}

func (before trace) kinds(after trace) []string {
	var kinds []string
	for kind := range before {
		kinds = append(kinds, kind)
	}
	for kind := range after {
		if _, ok := before[kind]; !ok {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// namespaces are those of a cluster's machines, by kind and machine.
type namespaces map[string]string

var namespaceKinds = []string{"mnt", "pid", "net", "uts", "ipc"}

// insideTrace asks the machines of a running cluster for their namespaces.
func insideTrace(t *testing.T, name string) namespaces {
	t.Helper()
	ns := namespaces{}
	for _, m := range []string{"control-plane", "node1", "node2"} {
		for _, kind := range namespaceKinds {
			id := strings.TrimSpace(must(t, name, "exec", m, "readlink", "/proc/1/ns/"+kind))
			if host, err := os.Readlink("/proc/self/ns/" + kind); err != nil || id == host {
				t.Fatalf("%s has the host's %s namespace %s (%v)", m, kind, id, err)
			}
			ns[kind+" of "+m] = id
		}
	}
	return ns
}

// expectGone sees that no process is left in any of them: containers included.
// The host's init may take its time to collect the machines' own.
func (ns namespaces) expectGone(t *testing.T) {
	t.Helper()
	eventually(t, "the end of all processes in the cluster's namespaces", func() error {
		for _, kind := range namespaceKinds {
			links, err := filepath.Glob("/proc/[0-9]*/ns/" + kind)
			if err != nil {
				return err
			}
			for _, link := range links {
				id, err := os.Readlink(link)
				if err != nil {
					continue // the process has ended
				}
				for of, was := range ns {
					if strings.HasPrefix(of, kind) && id == was {
						return fmt.Errorf("%s is still in the %s", filepath.Dir(filepath.Dir(link)), of)
					}
				}
			}
		}
		return nil
	})
}
