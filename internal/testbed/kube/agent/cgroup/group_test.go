package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/run/machine/proc"
)

const mount = "sys/fs/cgroup"

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

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
		want []Usage
	}{
		"version 1, cgroupfs": {func(m fstest.MapFS) {
			version1(m, "cpuacct", "cpu", "kubepods/burstable/pod"+uid1, "5000")
			version1(m, "cpuacct", "cpu", "kubepods/burstable/pod"+uid1+"/abcdef", "4000")
		}, []Usage{{Pod: uid1, CPU: 5000, WorkingSet: 700, Throttled: 3, Containers: []Usage{{ID: "abcdef", CPU: 4000, WorkingSet: 700, Throttled: 3}}}}},
		"version 1, joint hierarchies": {func(m fstest.MapFS) {
			version1(m, "cpu,cpuacct", "cpu,cpuacct", "kubepods/pod"+uid1, "5000")
		}, []Usage{{Pod: uid1, CPU: 5000, WorkingSet: 700, Throttled: 3}}},
		"version 1, below another root": {func(m fstest.MapFS) {
			version1(m, "cpuacct", "cpu", "tare-cluster-test-node1/kubepods/besteffort/pod"+uid1, "5000")
			version1(m, "cpuacct", "cpu", "tare-cluster-test-node2/kubepods/pod"+uid2, "6000")
		}, []Usage{{Pod: uid1, CPU: 5000, WorkingSet: 700, Throttled: 3}, {Pod: uid2, CPU: 6000, WorkingSet: 700, Throttled: 3}}},
		"version 1, systemd": {func(m fstest.MapFS) { version1(m, "cpuacct", "cpu", systemd2, "5000") },
			[]Usage{{Pod: uid2, CPU: 5000, WorkingSet: 700, Throttled: 3}}},
		"version 2, systemd": {func(m fstest.MapFS) {
			version2(m, systemd2, "7")
			version2(m, systemd2+"/cri-containerd-abcdef.scope", "6")
			version2(m, "kubepods.slice/kubepods-pod"+uid3+".slice", "8")
		}, []Usage{{Pod: uid2, CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3, Containers: []Usage{{ID: "abcdef", CPU: 6 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}}, {Pod: uid3, CPU: 8 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}},
		"version 1, the kernel's part, several containers": {func(m fstest.MapFS) {
			at := "kubepods/pod" + uid1
			version1(m, "cpuacct", "cpu", at, "50000000")
			m["cpuacct/"+at+"/cpuacct.stat"] = file("user 1\nsystem 3\n")
			version1(m, "cpuacct", "cpu", at+"/aaaa", "1000")
			version1(m, "cpuacct", "cpu", at+"/bbbb", "2000")
			m["cpuacct/"+at+"/bbbb/cpuacct.stat"] = file("user 0\nsystem 1\n") // the kernel has rounded this number
			m["cpuacct/"+at+"/cccc/notify_on_release"] = file("0\n")           // this cgroup is being removed
		}, []Usage{{Pod: uid1, CPU: 50 * time.Millisecond, System: 30 * time.Millisecond, WorkingSet: 700, Throttled: 3, Containers: []Usage{
			{ID: "aaaa", CPU: 1000, WorkingSet: 700, Throttled: 3}, {ID: "bbbb", CPU: 2000, System: 2000, WorkingSet: 700, Throttled: 3}}}}},
		"version 2, CRI-O with its monitors": {func(m fstest.MapFS) {
			version2(m, systemd2, "70")
			version2(m, systemd2+"/crio-abcdef.scope", "30")
			version2(m, systemd2+"/crio-conmon-abcdef.scope", "5")
			version2(m, systemd2+"/crio-012345.scope", "4")
		}, []Usage{{Pod: uid2, CPU: 70 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3, Containers: []Usage{
			{ID: "012345", CPU: 4 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3},
			{ID: "abcdef", CPU: 35 * time.Microsecond, System: 4 * time.Microsecond, WorkingSet: 1400, Throttled: 6}}}}},
		"version 2, kind": {func(m fstest.MapFS) {
			version2(m, "system.slice/docker-0123.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod7c4a8d09_ca37_62af_61e5_9520943dc264.slice", "7")
		}, []Usage{{Pod: uid1, CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}},
		"version 2, cgroupfs": {func(m fstest.MapFS) { version2(m, "kubepods/pod"+uid1, "7") },
			[]Usage{{Pod: uid1, CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}}},
		"in one hierarchy only": {func(m fstest.MapFS) {
			m["memory/memory.usage_in_bytes"] = file("123456789\n") // this cgroup is the whole node's
			m["cpu/cpu.stat"] = file("nr_throttled 9\n")
			m["cpuacct/kubepods/pod"+uid1+"/cpuacct.usage"] = file("5\n")
		}, []Usage{{Pod: uid1, CPU: 5, Throttled: -1}}},
		"containers that are throttled below a pod that is not": {func(m fstest.MapFS) {
			at := "kubepods/pod" + uid1
			for name, throttled := range map[string]string{"": "0", "/aaaa": "5", "/bbbb": "2"} {
				version1(m, "cpuacct", "cpu", at+name, "1000")
				m["cpu/"+at+name+"/cpu.stat"] = file("nr_periods 10\nnr_throttled " + throttled + "\n")
			}
			m["cpuacct/"+at+"/cccc/cpuacct.usage"] = file("1\n") // has no limit of its own
		}, []Usage{{Pod: uid1, CPU: 1000, WorkingSet: 700, Containers: []Usage{
			{ID: "aaaa", CPU: 1000, WorkingSet: 700, Throttled: 5}, {ID: "bbbb", CPU: 1000, WorkingSet: 700, Throttled: 2}, {ID: "cccc", CPU: 1}}}}},
		"a kernel that cannot throttle groups": {func(m fstest.MapFS) {
			version2(m, "kubepods/pod"+uid1, "7")
			m["kubepods/pod"+uid1+"/cpu.stat"] = file("usage_usec 7\n")
		}, []Usage{{Pod: uid1, CPU: 7 * time.Microsecond, WorkingSet: 700, Throttled: -1}}},
		"nonsense": {func(m fstest.MapFS) { version1(m, "cpuacct", "cpu", "kubepods/pod"+uid1, "-5") }, nil},
		"too deep": {func(m fstest.MapFS) { version2(m, "1/2/3/4/5/6/7/8/pod"+uid1, "7") }, nil},
		"nothing":  {func(fstest.MapFS) {}, nil},
	} {
		files, known := fstest.MapFS{}, map[string]string{}
		c.make(files)
		for _, when := range []string{"first", "again"} {
			var got []Usage
			for _, g := range locate(files, []string{uid1, uid2, uid3}, known) {
				if c, ok := g.Read(); ok {
					got = append(got, c)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s: -want +got\n%s", name, when, diff)
			}
		}
	}
}

// TestPodsThatMove: the path of a pod's cgroup is remembered only while the cgroup exists.
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
		if got, ok := podUID(name); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, ok, want)
		}
	}
}

// groupsIn parses the text of /proc/self/cgroup.
func groupsIn(t *testing.T, text string) map[string]string {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "proc/7"), 0o755), os.Symlink("7", filepath.Join(root, "proc/self")),
		os.WriteFile(filepath.Join(root, "proc/7/cgroup"), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return proc.Groups(proc.Below(root))
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
		want   Usage
		ok     bool
	}{
		"version 1": {below(mount, one), "3:cpuacct:/a/b\n2:cpu:/a/b\n1:memory:/a/b\n0::/x\n", Usage{CPU: 5000, WorkingSet: 700, Throttled: 3}, true},
		"version 2": {below(mount, two), "0::/a/b\n", Usage{CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}, true},
		"as a container sees it": {below(mount, root), "0::/kubepods/pod1/2\n",
			Usage{CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}, true},
		"outside": {below(mount, two), "0::/../../a/b\n", Usage{CPU: 7 * time.Microsecond, System: 2 * time.Microsecond, WorkingSet: 700, Throttled: 3}, true},
		"none":    {fstest.MapFS{}, "", Usage{}, false},
	} {
		got, ok := Own(c.files, groupsIn(t, c.groups)).Read()
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("%s: %v, -want +got\n%s", name, ok, diff)
		}
	}
}

func FuzzCgroups(f *testing.F) {
	f.Add("0::/a/b\n", "usage_usec 5\nnr_throttled 1\n", "100\n", "a")
	f.Add("3:cpuacct:/a/b\n", "5\n", "system 9223372036854775807\n", "b")
	f.Add("3:cpuacct:/a\n", "5\n", "-1\n", "cri-containerd-abc.scope")
	f.Fuzz(func(t *testing.T, groups, stat, memory, name string) {
		files, own := fstest.MapFS{}, groupsIn(t, groups)
		for _, dir := range []string{"", "cpuacct/", "cpu/", "memory/"} {
			for _, below := range []string{"", "a/b/"} {
				at := mount + "/" + dir + below
				files[at+"cpu.stat"] = &fstest.MapFile{Data: []byte(stat)}
				files[at+"cpuacct.usage"] = &fstest.MapFile{Data: []byte(stat)}
				files[at+"cpuacct.stat"] = &fstest.MapFile{Data: []byte(memory)}
				files[at+"memory.current"] = &fstest.MapFile{Data: []byte(memory)}
				files[at+"memory.usage_in_bytes"] = &fstest.MapFile{Data: []byte(memory)}
			}
		}
		for range 2 {
			if c, ok := Own(files, own).Read(); ok && (c.CPU < 0 || c.System < 0 || c.System > c.CPU || c.WorkingSet < 0 || c.Throttled < -1) {
				t.Errorf("%+v", c)
			}
			files[mount+"/cgroup.controllers"] = &fstest.MapFile{}
		}
		if fs.ValidPath(name) && !strings.Contains(name, "/") {
			if uid, ok := podUID(name); ok && !ValidUID.MatchString(uid) && len(uid) <= 64 && !strings.Contains(uid, "_") {
				t.Errorf("%q is the pod %q", name, uid)
			}
		}
		_ = containerID(name)
	})
}

// BenchmarkRead reads the cgroup of a pod of this machine or, without one, of this process. Following a pod's memory
// costs this time at each of the few samples in a second.
func BenchmarkRead(b *testing.B) {
	of := Own(os.DirFS("/"), proc.Groups(proc.Below("/")))
	of.pod = uid1 // so that what is below is read as well
	cgroups := os.DirFS("/sys/fs/cgroup")
	_ = fs.WalkDir(cgroups, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // gone meanwhile
		}
		if uid, ok := podUID(d.Name()); ok {
			if found := locate(cgroups, []string{uid}, map[string]string{}); len(found) > 0 {
				of = found[0]
				return fs.SkipAll
			}
		}
		return nil
	})
	c, ok := of.Read()
	if !ok {
		b.Skip("no cgroup can be read here")
	}
	for b.Loop() {
		of.Read()
	}
	b.ReportMetric(float64(len(c.Containers)), "containers")
}
