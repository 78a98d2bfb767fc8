package agent

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testbed"
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
		"echo hello": `facts: [/bin/sh -c echo hello] printed "hello\n": invalid character 'h' looking for beginning of value`,
	} {
		dir := serve(t, &Server{Self: []string{"/bin/sh", "-c", script}})
		if _, err := sessionWith(t, dialer(dir), Options{}).Facts(t.Context()); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// factsRole makes this test program print its facts.
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
	before, err := s.Counters(t.Context(), CountersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.Counters(t.Context(), CountersRequest{Root: t.TempDir(), Cgroups: []string{"7c4a8d09-ca37-62af-61e5-9520943dc264"}})
	if err != nil {
		t.Fatal(err)
	}
	if before.CPUs < 1 || before.Busy <= 0 || after.Busy < before.Busy || !after.Time.After(before.Time) || before.BootID == "" || before.Network.Name != testbed.ResourceNetwork || len(after.Pods) > 0 {
		t.Errorf("%+v, then %+v", before, after)
	}
	many := make([]string, podsLimit+1)
	if _, err := s.Counters(t.Context(), CountersRequest{Cgroups: many}); err == nil || err.Error() != "counters: the request names 10001 pods; the maximum is 10000" {
		t.Errorf("got %v", err)
	}
}

const (
	uid1 = "7c4a8d09-ca37-62af-61e5-9520943dc264"
	uid2 = "624e2185-a5f5-46a0-a7d6-9017bab830ea"
)
