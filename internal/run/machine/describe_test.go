package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tare/internal/test/golden"
)

// files makes a file system from an archive.
func files(a *txtar.Archive) fstest.MapFS {
	m := fstest.MapFS{}
	for _, f := range a.Files {
		m[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return m
}

// tree writes a machine's files into a directory. The files of this process get a process id of their own, as on
// Linux.
func tree(t testing.TB, files fstest.MapFS) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, files); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(root, "proc/self")
	if os.Rename(self, filepath.Join(root, "proc/4000000")) == nil {
		if err := os.Symlink("4000000", self); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestDescribeMachines describes the machines in testdata.
func TestDescribeMachines(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sys := files(a)
			got, err := json.MarshalIndent(describe(tree(t, sys)), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			if bytes.Contains(got, []byte("S123456X7890123")) {
				t.Error("the serial number is in the record")
			}
			if golden.Update() {
				i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want.json" })
				a.Files[i].Data = got
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(sys["want.json"].Data), string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestDescribeHere describes this machine, and checks that the record does not reveal its owner.
func TestDescribeHere(t *testing.T) {
	t.Setenv("TARE_TEST_SECRET", "hunter2-in-the-environment")
	e := Describe(t.Context(), "1.2.3", []ToolQuery{{Name: "go", Args: []string{"version"}}}, run)
	if e.Schema != EnvironmentSchema || e.TareVersion != "1.2.3" || e.Go != runtime.Version() || e.Root != (os.Geteuid() == 0) {
		t.Errorf("%+v", e)
	}
	kernel, err := exec.Command("uname", "-r").Output()
	if err == nil && strings.TrimSpace(string(kernel)) != e.Kernel {
		t.Errorf("kernel %q, uname says %q", e.Kernel, kernel)
	}
	if e.CPU.Usable != runtime.NumCPU() || e.CPU.Online < e.CPU.Usable || e.Memory < 1<<20 {
		t.Errorf("CPUs %+v, memory %d", e.CPU, e.Memory)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	forbidden := []string{"hunter2", os.Args[0]}
	if h, err := os.Hostname(); err == nil && len(h) > 3 {
		forbidden = append(forbidden, h)
	}
	if u, err := user.Current(); err == nil && u.Username != "root" && len(u.Username) > 3 {
		forbidden = append(forbidden, u.Username)
	}
	for _, text := range forbidden {
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("the record holds %q: %s", text, data)
		}
	}
}

// TestDescribeNothing describes a machine without any readable files.
func TestDescribeNothing(t *testing.T) {
	e := describe(t.TempDir())
	want := &Environment{Schema: EnvironmentSchema, CPU: CPU{Flags: []string{}},
		Notes: []string{"kernel threads cannot be seen: their CPU time counts as that of other programs"}}
	if d := cmp.Diff(want, e); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestConfidential(t *testing.T) {
	for _, c := range []struct {
		name, flags, file, content, want string
	}{
		{"host that can run SEV-SNP guests", "fpu sev sev_es sev_snp", "dev/sev", "", ""},
		{"virtual machine", "fpu hypervisor", "dev/kvm", "", ""},
		{"SEV", "fpu hypervisor sev", "", "", "SEV"},
		{"SEV-ES", "fpu hypervisor sev sev_es", "", "", "SEV-ES"},
		{"SEV-SNP by flag", "fpu hypervisor sev sev_es sev_snp", "", "", "SEV-SNP"},
		{"SEV-SNP by device", "fpu hypervisor", "dev/sev-guest", "", "SEV-SNP"},
		{"SEV-SNP by driver", "fpu hypervisor", "sys/devices/platform/sev-guest/driver_override", "", "SEV-SNP"},
		{"SEV-SNP by privilege level", "fpu hypervisor", "sys/devices/system/cpu/sev/vmpl", "0", "SEV-SNP"},
		{"TDX by flag", "fpu hypervisor tdx_guest", "", "", "TDX"},
		{"TDX by device", "fpu hypervisor", "dev/tdx_guest", "", "TDX"},
		{"TDX host", "fpu tdx_host_platform", "sys/firmware/tdx/version", "1.5", ""},
		{"CCA", "asimd", "sys/devices/platform/arm-cca-dev/uevent", "", "CCA"},
		{"Secure Execution", "", "sys/firmware/uv/prot_virt_guest", "1\n", "Secure Execution"},
		{"Secure Execution host", "", "sys/firmware/uv/prot_virt_guest", "0\n", ""},
	} {
		sys := fstest.MapFS{}
		if c.file != "" {
			sys[c.file] = &fstest.MapFile{Data: []byte(c.content)}
		}
		if got := confidential(sys, strings.Fields(c.flags)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPlatform(t *testing.T) {
	const x86, guest = "fpu", "fpu hypervisor"
	for _, c := range []struct {
		flags, vendor, product, tag, clocks string
		hypervisor, instance                string
	}{
		{x86, "Dell Inc.", "PowerEdge R650", "", "tsc hpet", "", ""},
		{x86, "Amazon EC2", "m5.metal", "", "tsc", "", "m5.metal"},
		{"asimd", "Amazon EC2", "m6g.metal", "", "arch_sys_counter", "", "m6g.metal"},
		{"asimd", "Amazon EC2", "m6g.large", "", "arch_sys_counter", "KVM (Nitro)", "m6g.large"},
		{guest, "Microsoft Corporation", "Virtual Machine", azureTag, "", "Hyper-V", "Azure virtual machine"},
		{guest, "Microsoft Corporation", "Virtual Machine", "", "", "Hyper-V", ""},
		{guest, "QEMU", "Standard PC (Q35 + ICH9, 2009)", "OracleCloud.com", "", "KVM", "Oracle Cloud"},
		{guest, "Alibaba Cloud", "Alibaba Cloud ECS", "", "", "KVM", "Alibaba Cloud ECS"},
		{guest, "DigitalOcean", "Droplet", "", "", "KVM", "DigitalOcean Droplet"},
		{guest, "VMware, Inc.", "VMware20,1", "", "", "VMware", ""},
		{guest, "innotek GmbH", "VirtualBox", "", "", "VirtualBox", ""},
		{guest, "", "", "", "tsc kvm-clock", "KVM", ""},
		{guest, "", "", "", "hyperv_clocksource_tsc_page", "Hyper-V", ""},
		{guest, "", "", "", "tsc", "unknown hypervisor", ""},
	} {
		sys := fstest.MapFS{
			"sys/class/dmi/id/sys_vendor":                                       {Data: []byte(c.vendor + "\n")},
			"sys/class/dmi/id/product_name":                                     {Data: []byte(c.product + "\n")},
			"sys/class/dmi/id/chassis_asset_tag":                                {Data: []byte(c.tag + "\n")},
			"sys/devices/system/clocksource/clocksource0/available_clocksource": {Data: []byte(c.clocks + "\n")},
		}
		if got := hypervisor(sys, strings.Fields(c.flags)); got != c.hypervisor {
			t.Errorf("%s %s: hypervisor %q, want %q", c.vendor, c.product, got, c.hypervisor)
		}
		if got := instance(sys); got != c.instance {
			t.Errorf("%s %s: instance %q, want %q", c.vendor, c.product, got, c.instance)
		}
	}
	xen := fstest.MapFS{"sys/hypervisor/type": {Data: []byte("xen\n")}}
	wsl := fstest.MapFS{"proc/sys/kernel/osrelease": {Data: []byte("5.15.153.1-microsoft-standard-WSL2\n")}}
	if x, w := hypervisor(xen, nil), hypervisor(wsl, nil); x != "Xen" || w != "Hyper-V (WSL)" {
		t.Errorf("%q, %q", x, w)
	}
}

func TestContainer(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"proc/self/cgroup", "0::/\n", ""},
		{".dockerenv", "", "docker"},
		{"proc/self/cgroup", "4:cpu:/docker/0123\n", "docker"},
		{"run/.containerenv", "", "podman"},
		{"run/systemd/container", "lxc\n", "lxc"},
		{"proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice\n", "kubernetes"},
		{"proc/self/cgroup", "0::/lxc/c1\n", "lxc"},
	} {
		sys := fstest.MapFS{c.file: {Data: []byte(c.content)}}
		if got := container(sys); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.file, c.content, got, c.want)
		}
	}
}

func run(ctx context.Context, args, env []string, stdout, stderr io.Writer) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), stdout, stderr
	_ = cmd.Run()
}

func TestTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home", "alice", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"first":  "echo; echo \"  one $1  \"; echo two",
		"stderr": "echo version 3 >&2; exit 7",
		"silent": "exit 0",
		"long":   "printf '%0500d' 7",
		"paths":  "echo built in /home/alice/src by nobody",
		"binary": `printf '\377\376 v1\n'`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	ctx := t.Context()
	for _, c := range []struct{ name, version string }{
		{"first", "one --version"},
		{"stderr", "version 3"},
		{"silent", ""},
		{"long", strings.Repeat("0", maxVersion) + "…"},
		{"paths", "built in ~/src by nobody"},
		{"binary", "\ufffd\ufffd v1"},
	} {
		got := queryTool(ctx, ToolQuery{Name: c.name, Args: []string{"--version"}}, run)
		if got.Version != c.version {
			t.Errorf("%s: %q, want %q", c.name, got.Version, c.version)
		}
		if strings.Contains(got.Path, "alice") || !strings.HasSuffix(got.Path, "~/bin/"+c.name) {
			t.Errorf("path %q", got.Path)
		}
	}
	if got := queryTool(ctx, ToolQuery{Name: "no-such-program"}, run); got != (Tool{Name: "no-such-program"}) {
		t.Errorf("%+v", got)
	}
}

func TestLimitedBuffer(t *testing.T) {
	var b limitedBuffer
	for range 3 {
		if n, err := b.Write(make([]byte, maxToolOutput-1)); n != maxToolOutput-1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if len(b.kept) != maxToolOutput {
		t.Errorf("kept %d bytes", len(b.kept))
	}
}

func TestDifferences(t *testing.T) {
	was := &Environment{Kernel: "6.8.0", CPU: CPU{Model: "A", Governor: "performance", Flags: []string{"aes"}}, Memory: 1 << 30,
		Load: [3]float64{1, 2, 3}, Notes: []string{"n"}, Tools: []Tool{{Name: "fio", Version: "fio-3.36"}, {Name: "jq", Version: "jq-1.6"}},
		Mitigations: map[string]string{"mds": "Not affected"}}
	is := &Environment{Kernel: "6.9.0", CPU: CPU{Model: "A", Flags: []string{"aes", "avx"}}, Memory: 1 << 30,
		Tools: []Tool{{Name: "fio", Version: "fio-3.38"}, {Name: "jq", Version: "jq-1.6"}}, Root: true,
		CipherDriver: map[string]string{"aes": "aes-aesni"}}
	want := []string{
		"kernel is 6.9.0, was 6.8.0",
		"frequency governor is unknown, was performance",
		"root is true, was false",
		"processor flags changed",
		"mitigation of mds is unknown, was Not affected",
		"cipher driver of aes is aes-aesni, was unknown",
		"tool fio is fio-3.38, was fio-3.36",
	}
	if d := cmp.Diff(want, was.Differences(is)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := is.Differences(is); d != nil {
		t.Errorf("a machine differs from itself: %v", d)
	}
}

func TestCountList(t *testing.T) {
	for _, c := range []struct {
		list string
		want int
	}{{"0", 1}, {"0-3", 4}, {"0-2,4-7", 7}, {"1,3,5", 3}, {"", 0}, {"3-1", 0}, {"a-b", 0}, {"0-99999999", 0}} {
		if got := countList(c.list); got != c.want {
			t.Errorf("%q: %d, want %d", c.list, got, c.want)
		}
	}
}

// FuzzDescribe returns the same arbitrary bytes for every file: Describe must neither panic nor loop.
func FuzzDescribe(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			f.Add(file.Data)
		}
	}
	f.Add([]byte("0-1048575,0-1048575"))
	f.Add([]byte("9223372036854775807 1"))
	names := []string{"proc/cpuinfo", "proc/meminfo", "proc/loadavg", "proc/crypto", "proc/self/cgroup", "proc/self/uid_map", "etc/os-release",
		"sys/hypervisor/type", "sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.max",
		"sys/devices/system/cpu/online", "sys/devices/system/cpu/vulnerabilities/x", "sys/class/dmi/id/product_name"}
	f.Fuzz(func(t *testing.T, data []byte) {
		sys := fstest.MapFS{}
		for _, name := range names {
			sys[name] = &fstest.MapFile{Data: data, Mode: fs.ModePerm}
		}
		e := describe(tree(t, sys))
		if e.Memory < 0 || e.CPU.Online < 0 || e.Cgroup.CPUs < 0 || e.Cgroup.Memory < 0 || e.Load[0] < 0 {
			t.Errorf("%+v", e)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	})
}
