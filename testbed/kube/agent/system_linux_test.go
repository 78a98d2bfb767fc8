package agent

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestFacts(t *testing.T) {
	const status = "Name:\tcat\nSeccomp:\t2\nSeccomp_filters:\t1\nNoNewPrivs:\t1\nCapEff:\t00000000a80425fb\n"
	for name, c := range map[string]struct {
		view view
		want Facts
	}{
		"runc": {
			view{release: "6.1.0-13-cloud-amd64", version: "#1 SMP Debian", files: fstest.MapFS{
				"proc/self/status": file(status), "proc/sys/kernel/random/boot_id": file("d445585d\n"),
				"proc/self/attr/current":          file("cri-containerd.apparmor.d (enforce)\n"),
				"proc/self/attr/apparmor/current": file("cri-containerd.apparmor.d (enforce)\n"),
			}},
			Facts{Kernel: "6.1.0-13-cloud-amd64", KernelTag: "#1 SMP Debian", Seccomp: "filter", NoNewPrivs: "1",
				CapEff: "00000000a80425fb", AppArmor: "cri-containerd.apparmor.d (enforce)", BootID: "d445585d"},
		},
		"old kernel, AppArmor": {view{files: fstest.MapFS{"proc/self/attr/current": file("unconfined\n")}}, Facts{AppArmor: "unconfined"}},
		"SELinux":              {view{files: fstest.MapFS{"proc/self/attr/current": file("system_u:system_r:container_t:s0:c1,c2\x00")}}, Facts{SELinux: "system_u:system_r:container_t:s0:c1,c2"}},
		"both": {view{files: fstest.MapFS{
			"proc/self/attr/current":          file("system_u:system_r:container_t:s0\x00"),
			"proc/self/attr/apparmor/current": file("unconfined\n"),
		}}, Facts{AppArmor: "unconfined", SELinux: "system_u:system_r:container_t:s0"}},
		"another module": {view{files: fstest.MapFS{"proc/self/attr/current": file("_\n")}}, Facts{}},
		"gVisor by its log": {view{files: fstest.MapFS{}, log: "[   0.000000] Starting gVisor...\n"},
			Facts{Sandbox: "gvisor"}},
		"gVisor by its release": {view{files: fstest.MapFS{}, release: "4.19.0-gvisor"}, Facts{Kernel: "4.19.0-gvisor", Sandbox: "gvisor"}},
		"old gVisor": {view{files: fstest.MapFS{}, release: "4.4.0", version: "#1 SMP Sun Jan 10 15:06:54 PST 2016"},
			Facts{Kernel: "4.4.0", KernelTag: "#1 SMP Sun Jan 10 15:06:54 PST 2016", Sandbox: "gvisor"}},
		"Kata":    {view{files: fstest.MapFS{"proc/cmdline": file("tsc=reliable systemd.unit=kata-containers.target agent.log=debug\n")}}, Facts{Sandbox: "kata"}},
		"Kata 2":  {view{files: fstest.MapFS{"proc/self/mountinfo": file("100 99 0:30 / / rw - virtiofs kataShared rw\n")}}, Facts{Sandbox: "kata"}},
		"SEV-SNP": {view{files: fstest.MapFS{"sys/class/misc/sev-guest/dev": file("10:1\n")}}, Facts{Confidential: "SEV-SNP"}},
		"SEV-SNP by its log": {view{files: fstest.MapFS{}, log: "[ 0.1] Memory Encryption Features active: AMD SEV SEV-ES SEV-SNP\n"},
			Facts{Confidential: "SEV-SNP"}},
		"SEV only":    {view{files: fstest.MapFS{}, log: "[ 0.1] Memory Encryption Features active: AMD SEV\nSEV-SNP: no\n"}, Facts{}},
		"TDX":         {view{files: fstest.MapFS{"dev/tdx_guest": file("")}}, Facts{Confidential: "TDX"}},
		"hostile":     {view{release: "6\x1b[31m\n7", files: fstest.MapFS{"proc/self/status": file("Seccomp:\t9\nNoNewPrivs:\tyes\nCapEff:\tall of them\n")}}, Facts{Kernel: "6"}},
		"nothing":     {view{files: fstest.MapFS{}}, Facts{}},
		"no seccomp":  {view{files: fstest.MapFS{"proc/self/status": file("Seccomp:\t0\n")}}, Facts{Seccomp: "disabled"}},
		"strict":      {view{files: fstest.MapFS{"proc/self/status": file("Seccomp:\t1\n")}}, Facts{Seccomp: "strict"}},
		"long labels": {view{release: strings.Repeat("x", 1000), files: fstest.MapFS{}}, Facts{Kernel: strings.Repeat("x", 255) + "…"}},
	} {
		if diff := cmp.Diff(c.want, c.view.facts()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestFactsOfThisMachine: the facts are those of a process that the agent starts.
func TestFactsOfThisMachine(t *testing.T) {
	dir := serve(t, &Server{Version: "v1", Self: []string{"/proc/self/exe", factsRole}})
	s := sessionWith(t, dialer(dir), Options{Version: "v1"})
	f, err := s.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := ReadFacts()
	own.Version = "v1"
	if diff := cmp.Diff(own, f); diff != "" {
		t.Errorf("what the test sees and what a program sees differ: -test +program\n%s", diff)
	}
	if f.Kernel == "" || f.CapEff == "" || f.CPUs < 1 || f.NoNewPrivs == "" {
		t.Errorf("%+v", f)
	}
	for script, want := range map[string]string{
		"exit 3":     "facts: [/bin/sh -c exit 3] ended with 3: \"\"",
		"echo hello": `facts: [/bin/sh -c echo hello] said "hello\n": invalid character 'h' looking for beginning of value`,
	} {
		dir := serve(t, &Server{Self: []string{"/bin/sh", "-c", script}})
		if _, err := sessionWith(t, dialer(dir), Options{}).Facts(t.Context()); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// factsRole has this test program print its facts.
const factsRole = "tell-facts"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case factsRole:
			_ = json.NewEncoder(os.Stdout).Encode(ReadFacts())
			return
		case firstRole:
			if err := beFirst(os.Args[2]); err != nil {
				os.Stderr.WriteString(err.Error())
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

func TestCountersOfThisMachine(t *testing.T) {
	s := session(t)
	before, err := s.Counters(t.Context(), Question{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Counters(t.Context(), Question{Root: t.TempDir(), Cgroups: []string{"7c4a8d09-ca37-62af-61e5-9520943dc264"}})
	if err != nil {
		t.Fatal(err)
	}
	if before.CPUs < 1 || before.Busy <= 0 || after.Busy < before.Busy || !after.Time.After(before.Time) || before.BootID == "" || len(after.Pods) > 0 {
		t.Errorf("%+v, then %+v", before, after)
	}
	many := make([]string, podsLimit+1)
	if _, err := s.Counters(t.Context(), Question{Cgroups: many}); err == nil || err.Error() != "counters: 10001 pods are asked for, 10000 at once are the most" {
		t.Errorf("got %v", err)
	}
}

const (
	uid1 = "7c4a8d09-ca37-62af-61e5-9520943dc264"
	uid2 = "624e2185-a5f5-46a0-a7d6-9017bab830ea"
	uid3 = "0123456789abcdef0123456789abcdef" // of a static pod
)

// version1 makes the files of a cgroup in the hierarchies of version 1.
func version1(files fstest.MapFS, usage, cpu, group string, ns string) {
	files[usage+"/"+group+"/cpuacct.usage"] = file(ns + "\n")
	files[cpu+"/"+group+"/cpu.stat"] = file("nr_periods 10\nnr_throttled 3\nthrottled_time 5\n")
	files["memory/"+group+"/memory.usage_in_bytes"] = file("1000\n")
	files["memory/"+group+"/memory.stat"] = file("cache 400\ninactive_file 7\ntotal_inactive_file 300\n")
}

// version2 makes the files of a cgroup of version 2.
func version2(files fstest.MapFS, group string, us string) {
	files["cgroup.controllers"] = file("cpu memory\n")
	files[group+"/cpu.stat"] = file("usage_usec " + us + "\nuser_usec 1\nsystem_usec 2\nnr_periods 10\nnr_throttled 3\n")
	files[group+"/memory.current"] = file("1000\n")
	files[group+"/memory.stat"] = file("anon 100\ninactive_file 300\n")
}

func TestPods(t *testing.T) {
	systemd2 := "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod624e2185_a5f5_46a0_a7d6_9017bab830ea.slice"
	for name, c := range map[string]struct {
		make func(fstest.MapFS)
		want []Cgroup
	}{
		"version 1, cgroupfs": {func(m fstest.MapFS) {
			version1(m, "cpuacct", "cpu", "kubepods/burstable/pod"+uid1, "5000")
			version1(m, "cpuacct", "cpu", "kubepods/burstable/pod"+uid1+"/abcdef", "4000")
		}, []Cgroup{{Pod: uid1, CPU: 5000, WorkingSet: 700, Throttled: 3, Containers: []Within{{ID: "abcdef", CPU: 4000, WorkingSet: 700, Throttled: 3}}}}},
		"version 1, joint hierarchies": {func(m fstest.MapFS) {
			version1(m, "cpu,cpuacct", "cpu,cpuacct", "kubepods/pod"+uid1, "5000")
		}, []Cgroup{{Pod: uid1, CPU: 5000, WorkingSet: 700, Throttled: 3}}},
		"version 1, below another root": {func(m fstest.MapFS) {
			version1(m, "cpuacct", "cpu", "tare-cluster-test-node1/kubepods/besteffort/pod"+uid1, "5000")
			version1(m, "cpuacct", "cpu", "tare-cluster-test-node2/kubepods/pod"+uid2, "6000")
		}, []Cgroup{{Pod: uid1, CPU: 5000, WorkingSet: 700, Throttled: 3}, {Pod: uid2, CPU: 6000, WorkingSet: 700, Throttled: 3}}},
		"version 1, systemd": {func(m fstest.MapFS) { version1(m, "cpuacct", "cpu", systemd2, "5000") },
			[]Cgroup{{Pod: uid2, CPU: 5000, WorkingSet: 700, Throttled: 3}}},
		"version 2, systemd": {func(m fstest.MapFS) {
			version2(m, systemd2, "7")
			version2(m, systemd2+"/cri-containerd-abcdef.scope", "6")
			version2(m, "kubepods.slice/kubepods-pod"+uid3+".slice", "8")
		}, []Cgroup{{Pod: uid2, CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3, Containers: []Within{{ID: "abcdef", CPU: 6 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}}, {Pod: uid3, CPU: 8 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}},
		"version 1, the kernel's part, several containers": {func(m fstest.MapFS) {
			at := "kubepods/pod" + uid1
			version1(m, "cpuacct", "cpu", at, "50000000")
			m["cpuacct/"+at+"/cpuacct.stat"] = file("user 1\nsystem 3\n")
			version1(m, "cpuacct", "cpu", at+"/aaaa", "1000")
			version1(m, "cpuacct", "cpu", at+"/bbbb", "2000")
			m["cpuacct/"+at+"/bbbb/cpuacct.stat"] = file("user 0\nsystem 1\n") // rounded by the kernel
			m["cpuacct/"+at+"/cccc/notify_on_release"] = file("0\n")           // being removed
		}, []Cgroup{{Pod: uid1, CPU: 50 * time.Millisecond, System: 30 * time.Millisecond, WorkingSet: 700, Throttled: 3, Containers: []Within{
			{ID: "aaaa", CPU: 1000, WorkingSet: 700, Throttled: 3}, {ID: "bbbb", CPU: 2000, System: 2000, WorkingSet: 700, Throttled: 3}}}}},
		"version 2, CRI-O with its monitors": {func(m fstest.MapFS) {
			version2(m, systemd2, "70")
			version2(m, systemd2+"/crio-abcdef.scope", "30")
			version2(m, systemd2+"/crio-conmon-abcdef.scope", "5")
			version2(m, systemd2+"/crio-012345.scope", "4")
		}, []Cgroup{{Pod: uid2, CPU: 70 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3, Containers: []Within{
			{ID: "012345", CPU: 4 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3},
			{ID: "abcdef", CPU: 35 * time.Microsecond, System: 4 * time.Microsecond, WorkingSet: 1400, Throttled: 6}}}}},
		"version 2, kind": {func(m fstest.MapFS) {
			version2(m, "system.slice/docker-0123.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod7c4a8d09_ca37_62af_61e5_9520943dc264.slice", "7")
		}, []Cgroup{{Pod: uid1, CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}},
		"version 2, cgroupfs": {func(m fstest.MapFS) { version2(m, "kubepods/pod"+uid1, "7") },
			[]Cgroup{{Pod: uid1, CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}},
		"in one hierarchy only": {func(m fstest.MapFS) {
			m["memory/memory.usage_in_bytes"] = file("123456789\n") // of the whole node
			m["cpu/cpu.stat"] = file("nr_throttled 9\n")
			m["cpuacct/kubepods/pod"+uid1+"/cpuacct.usage"] = file("5\n")
		}, []Cgroup{{Pod: uid1, CPU: 5, Throttled: -1}}},
		"containers that are throttled below a pod that is not": {func(m fstest.MapFS) {
			at := "kubepods/pod" + uid1
			for name, throttled := range map[string]string{"": "0", "/aaaa": "5", "/bbbb": "2"} {
				version1(m, "cpuacct", "cpu", at+name, "1000")
				m["cpu/"+at+name+"/cpu.stat"] = file("nr_periods 10\nnr_throttled " + throttled + "\n")
			}
			m["cpuacct/"+at+"/cccc/cpuacct.usage"] = file("1\n") // has no limit of its own
		}, []Cgroup{{Pod: uid1, CPU: 1000, WorkingSet: 700, Containers: []Within{
			{ID: "aaaa", CPU: 1000, WorkingSet: 700, Throttled: 5}, {ID: "bbbb", CPU: 1000, WorkingSet: 700, Throttled: 2}, {ID: "cccc", CPU: 1}}}}},
		"a kernel that cannot throttle groups": {func(m fstest.MapFS) {
			version2(m, "kubepods/pod"+uid1, "7")
			m["kubepods/pod"+uid1+"/cpu.stat"] = file("usage_usec 7\n")
		}, []Cgroup{{Pod: uid1, CPU: 7 * time.Microsecond, WorkingSet: 700, Throttled: -1}}},
		"nonsense": {func(m fstest.MapFS) { version1(m, "cpuacct", "cpu", "kubepods/pod"+uid1, "-5") }, nil},
		"too deep": {func(m fstest.MapFS) { version2(m, "1/2/3/4/5/6/7/8/pod"+uid1, "7") }, nil},
		"nothing":  {func(fstest.MapFS) {}, nil},
	} {
		files, known := fstest.MapFS{}, map[string]string{}
		c.make(files)
		for _, when := range []string{"first", "again"} {
			var got []Cgroup
			for _, g := range locate(files, []string{uid1, uid2, uid3}, known) {
				if c, ok := g.read(); ok {
					got = append(got, c)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s: -want +got\n%s", name, when, diff)
			}
		}
	}
}

// TestPodsThatMove: a pod's place is remembered only as long as it is there.
func TestPodsThatMove(t *testing.T) {
	known := map[string]string{}
	files := fstest.MapFS{}
	version2(files, "kubepods/pod"+uid1, "7")
	if got := locate(files, []string{uid1}, known); len(got) != 1 || known[uid1] != "kubepods/pod"+uid1 {
		t.Fatalf("%v, %v", got, known)
	}
	files = fstest.MapFS{}
	version2(files, "other/pod"+uid1, "7")
	if got := locate(files, []string{uid1}, known); len(got) != 1 || known[uid1] != "other/pod"+uid1 {
		t.Fatalf("%v, %v", got, known)
	}
	if got := locate(fstest.MapFS{}, []string{uid1}, known); len(got) != 0 || len(known) != 0 {
		t.Fatalf("%v, %v", got, known)
	}
}

func TestPodNames(t *testing.T) {
	for name, want := range map[string]string{
		"pod" + uid1: uid1, "pod" + uid3: uid3,
		"kubepods-burstable-pod7c4a8d09_ca37_62af_61e5_9520943dc264.slice":          uid1,
		"kubepods-pod7c4a8d09_ca37_62af_61e5_9520943dc264.slice":                    uid1,
		"kubelet-kubepods-besteffort-pod7c4a8d09_ca37_62af_61e5_9520943dc264.slice": uid1,
		"kubepods": "", "kubepods.slice": "", "kubepods-burstable.slice": "", "podruntime.slice": "", "pod": "", "podman.slice": "", "system.slice": "",
	} {
		if got, ok := podOf(name); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestOwnGroup(t *testing.T) {
	below := func(top string, m fstest.MapFS) fstest.MapFS {
		all := fstest.MapFS{}
		for name, f := range m {
			all[top+"/"+name] = f
		}
		return all
	}
	one, two, root := fstest.MapFS{}, fstest.MapFS{}, fstest.MapFS{}
	version1(one, "cpuacct", "cpu", "a/b", "5000")
	version2(two, "a/b", "7")
	version2(root, ".", "7")
	root["cpu.stat"], root["memory.current"], root["memory.stat"] = root["./cpu.stat"], root["./memory.current"], root["./memory.stat"]
	for name, c := range map[string]struct {
		files  fstest.MapFS
		groups string
		want   Cgroup
		ok     bool
	}{
		"version 1": {below(cgroupMount, one), "3:cpuacct:/a/b\n2:cpu:/a/b\n1:memory:/a/b\n0::/x\n", Cgroup{CPU: 5000, WorkingSet: 700, Throttled: 3}, true},
		"version 2": {below(cgroupMount, two), "0::/a/b\n", Cgroup{CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}, true},
		"as a container sees it": {below(cgroupMount, root), "0::/kubepods/pod1/2\n",
			Cgroup{CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}, true},
		"outside": {below(cgroupMount, two), "0::/../../a/b\n", Cgroup{CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}, true},
		"none":    {fstest.MapFS{}, "", Cgroup{}, false},
	} {
		c.files["proc/self/cgroup"] = file(c.groups)
		got, ok := ownGroup(c.files).read()
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("%s: %v, -want +got\n%s", name, ok, diff)
		}
	}
}
