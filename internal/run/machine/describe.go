package machine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/run/machine/proc"
	"tare/internal/text/safetext"
)

// Describe records this machine and the versions of the named tools. Unknown fields stay empty. The record, meant for
// publication, has no host name, user name, address, serial number, environment variable or command line.
func Describe(ctx context.Context, version string, tools []ToolQuery, run runner) *Environment {
	e := thisMachine()
	e.Time = time.Now().UTC().Round(0)
	e.TareVersion = version
	e.Go = runtime.Version()
	e.Root = os.Geteuid() == 0
	e.Architecture = cmp.Or(e.Architecture, runtime.GOARCH)
	for _, q := range tools {
		e.Tools = append(e.Tools, queryTool(ctx, q, run))
	}
	return e
}

// describe reads the environment from the files of a Linux machine below root.
func describe(root string) *Environment {
	sys := os.DirFS(root)
	files, cpu := proc.Below(root), readCPU(sys)
	e := &Environment{
		Schema:       EnvironmentSchema,
		Kernel:       readText(sys, "proc/sys/kernel/osrelease"),
		KernelBuild:  readText(sys, "proc/sys/kernel/version"),
		OS:           osName(readText(sys, "etc/os-release")),
		Architecture: readText(sys, "proc/sys/kernel/arch"),
		CPU:          cpu,
		Mitigations:  mitigations(sys),
		Memory:       totalMemory(files),
		Cgroup:       ownCgroup(sys, proc.Groups(files)).limits(sys),
		ClockSource:  readText(sys, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Load:         loadAverage(files),
		Hypervisor:   hypervisor(sys, cpu.Flags),
		Instance:     instance(sys),
		Confidential: confidential(sys, cpu.Flags),
		UserNS:       inUserNamespace(readText(sys, "proc/self/uid_map")),
		CipherDriver: CipherDrivers(files),
	}
	if e.OS == "" {
		e.OS = osName(readText(sys, "usr/lib/os-release"))
	}
	e.Notes = notes(sys, e)
	return e
}

// osName returns PRETTY_NAME of os-release(5).
func osName(text string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// totalMemory returns MemTotal in bytes; 0 if unknown.
func totalMemory(files procfs.FS) int64 {
	memory, err := files.Meminfo()
	if err != nil || memory.MemTotalBytes == nil || *memory.MemTotalBytes > 1<<60 {
		return 0
	}
	return int64(*memory.MemTotalBytes)
}

// inUserNamespace reports whether a map of user ids differs from that of the initial user namespace, which maps every
// id to itself.
func inUserNamespace(uidMap string) bool {
	f := strings.Fields(uidMap)
	return len(f) > 0 && strings.Join(f, " ") != "0 0 4294967295"
}

// notes lists peculiarities of the machine that a reader of the run should know.
func notes(sys fs.FS, e *Environment) []string {
	var n []string
	add := func(condition bool, format string, args ...any) {
		if condition {
			n = append(n, fmt.Sprintf(format, args...))
		}
	}
	add(strings.Contains(e.CPU.Governor, "powersave") || strings.Contains(e.CPU.Governor, "ondemand"),
		"the CPU frequency governor is %s: the clock follows the load", e.CPU.Governor)
	add(!hasAES(e), "the processor has no AES instructions")
	aes := e.CipherDriver["aes"]
	add(hasAES(e) && aes != "" && softwareAES(aes) && softwareAES(e.CipherDriver["xts(aes)"]) && softwareAES(e.CipherDriver["gcm(aes)"]),
		"the kernel's crypto does not use the processor's AES instructions (the driver of aes is %s)", aes)
	add(e.Hypervisor != "", "the machine is virtual (%s): others may share its processors", e.Hypervisor)
	where := container(sys)
	add(where != "", "Tare runs in a container (%s)", where)
	add(readText(sys, "proc/2/comm") != "kthreadd", "kernel threads cannot be seen: their CPU time counts as that of other programs")
	add(slices.Contains(slowClocks, e.ClockSource), "the clock source is %s: reading the time is slow", e.ClockSource)
	add(e.Cgroup.CPUs > 0 && e.Cgroup.CPUs < float64(e.CPU.Online),
		"a cgroup limits Tare to %.4g of %d processors", e.Cgroup.CPUs, e.CPU.Online)
	add(e.Cgroup.Memory > 0 && e.Cgroup.Memory < e.Memory,
		"a cgroup limits Tare to %d MiB of memory", e.Cgroup.Memory>>20)
	add(e.CPU.Online > 0 && e.Load[0] > 0.5*float64(e.CPU.Online),
		"the machine was busy at the start: load average %.2f on %d processors", e.Load[0], e.CPU.Online)
	return n
}

// slowClocks lists clock sources that are slow, since the kernel or a device must be asked.
var slowClocks = []string{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}

// CipherDrivers returns, for each algorithm in /proc/crypto, the driver that the kernel prefers. Internal drivers are
// left out, since they only serve other drivers.
func CipherDrivers(files procfs.FS) map[string]string {
	algorithms, _ := files.Crypto()
	var drivers map[string]string
	priorities := map[string]int64{}
	for _, a := range algorithms {
		if a.Name == "" || a.Driver == "" || a.Priority == nil || a.Internal == "yes" {
			continue
		}
		if best, known := priorities[a.Name]; known && *a.Priority <= best {
			continue
		}
		if drivers == nil {
			drivers = map[string]string{}
		}
		drivers[a.Name], priorities[a.Name] = a.Driver, *a.Priority
	}
	return drivers
}

// hasAES reports whether the processor has AES instructions. Only x86 and ARM processors tell; other processors count
// as having AES instructions.
func hasAES(e *Environment) bool {
	known := slices.Contains(e.CPU.Flags, "fpu") || slices.Contains(e.CPU.Flags, "asimd")
	return !known || slices.Contains(e.CPU.Flags, "aes")
}

// softwareAES reports whether a driver computes AES without AES instructions. The driver "" counts as one without AES
// instructions: the kernel lists no mode that was never requested.
func softwareAES(driver string) bool {
	return driver == "" || strings.Contains(driver, "generic") || strings.Contains(driver, "fixed-time")
}

// ToolQuery is a query for a program's version.
type ToolQuery struct {
	Name string
	Path string   // path of the program; "": the program is found by its name in PATH
	Args []string // arguments that print the version: "--version"
}

const (
	toolTimeout   = 5 * time.Second // time limit for one program
	maxToolOutput = 64 << 10        // maximum output kept, in bytes
	maxVersion    = 200             // maximum length of a version, in bytes
)

// runner runs a program to its end and writes its output to stdout and stderr.
type runner func(ctx context.Context, args, env []string, stdout, stderr io.Writer)

// queryTool runs a program to get its version. The result has no path if the program is missing, and no version if it
// prints nothing.
func queryTool(ctx context.Context, q ToolQuery, run runner) Tool {
	t := Tool{Name: q.Name}
	path, err := exec.LookPath(cmp.Or(q.Path, q.Name))
	if err != nil {
		return t
	}
	t.Path = withoutUser(path)
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	var out, problems limitedBuffer
	// Many programs print their version and then end with an error. Some print it on standard error.
	run(ctx, append([]string{path}, q.Args...), []string{"LC_ALL=C"}, &out, &problems)
	for line := range bytes.Lines(append(out.kept, problems.kept...)) {
		if text := safetext.Head(string(line), maxVersion); text != "" {
			t.Version = strings.TrimSpace(strings.ReplaceAll(withoutUser(text), path, q.Name))
			break
		}
	}
	return t
}

var homeDir = regexp.MustCompile(`/(home|Users)/[^/\s]+`)

// withoutUser replaces home directories by "~".
func withoutUser(text string) string { return homeDir.ReplaceAllString(text, "~") }

// limitedBuffer keeps the first bytes written to it and drops the rest.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := max(0, maxToolOutput-len(b.kept))
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}
