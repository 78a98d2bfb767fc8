package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/machine"
	"tare/internal/run/machine/proc"
	"tare/internal/text/safetext"
)

// view holds the sources of facts: the system as one process sees it.
type view struct {
	files   fs.FS  // root directory of the process
	release string // kernel release, as of uname -r
	version string // kernel version, as of uname -v
	log     string // kernel log; "" if the process may not read it
}

// ReadFacts returns facts of this process and its kernel. The agent calls it in a new process: layers may treat
// programs and agent differently.
func ReadFacts() Facts {
	v := view{files: os.DirFS("/"), log: kernelLog()}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		v.release, v.version = unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Version[:])
	}
	f := v.facts()
	f.UID, f.Uplink = os.Getuid(), machine.ReadUplink()
	if f.NoNewPrivs == "" { // gVisor's /proc/self/status has no line NoNewPrivs
		if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil {
			f.NoNewPrivs = strconv.Itoa(on)
		}
	}
	e := machine.Describe(context.Background(), "", nil, nil)
	f.CPUModel, f.CPUs, f.Hypervisor = plain(e.CPU.Model), e.CPU.Usable, e.Hypervisor != ""
	f.Confidential = cmp.Or(f.Confidential, e.Confidential)
	return f
}

func (v view) facts() Facts {
	text := func(name string) string { return readText(v.files, name) }
	status := []byte(text("proc/self/status"))
	seccomp := map[string]string{"0": "disabled", "1": "strict", "2": "filter"}
	f := Facts{
		Kernel:       plain(v.release),
		KernelTag:    plain(v.version),
		Sandbox:      v.sandbox(),
		Seccomp:      seccomp[proc.Field(status, "Seccomp")],
		NoNewPrivs:   number(proc.Field(status, "NoNewPrivs"), 2, 1),
		CapEff:       number(proc.Field(status, "CapEff"), 16, 64),
		CapBnd:       number(proc.Field(status, "CapBnd"), 16, 64),
		UIDMap:       plain(strings.Join(strings.Fields(text("proc/self/uid_map")), " ")),
		BootID:       plain(text("proc/sys/kernel/random/boot_id")),
		Confidential: v.confidential(),
	}
	f.AppArmor, f.SELinux = v.labels()
	return f
}

// sandbox recognises a sandbox's kernel: gVisor by its log, release or fixed build date, and Kata (untested) by its
// command line or a mount.
func (v view) sandbox() string {
	commandLine, mounts := readText(v.files, "proc/cmdline"), readText(v.files, "proc/self/mountinfo")
	switch {
	case strings.Contains(v.log, "Starting gVisor"),
		strings.Contains(v.release, "gvisor"), strings.Contains(v.version, "gvisor"),
		strings.Contains(readText(v.files, "proc/version"), "gvisor"),
		strings.Contains(v.version, "Sun Jan 10 15:06:54 PST 2016"):
		return "gvisor"
	case strings.Contains(commandLine, "kata-containers"), strings.Contains(mounts, "kataShared"):
		return "kata"
	}
	return ""
}

func (v view) confidential() string {
	has := func(name string) bool {
		_, err := fs.Stat(v.files, name)
		return err == nil
	}
	switch {
	case has("dev/sev-guest"), has("sys/class/misc/sev-guest"), encryption.MatchString(v.log):
		return "SEV-SNP"
	case has("dev/tdx_guest"), has("sys/class/misc/tdx_guest"), strings.Contains(v.log, "tdx: Guest detected"):
		return "TDX"
	}
	return ""
}

var encryption = regexp.MustCompile(`Memory Encryption Features active:.*SEV-SNP`)

var confinement = regexp.MustCompile(`^(unconfined|.+ \((enforce|complain|kill|unconfined|mixed|prompt)\))$`)

// labels returns the AppArmor profile and the SELinux context in force. The file attr/current holds only one of them,
// and its form shows which.
func (v view) labels() (appArmor, seLinux string) {
	appArmor = plain(readText(v.files, "proc/self/attr/apparmor/current"))
	current := plain(readText(v.files, "proc/self/attr/current"))
	switch {
	case appArmor == "" && confinement.MatchString(current):
		appArmor = current
	case appArmor != current && strings.Count(current, ":") >= 3:
		seLinux = current
	}
	return appArmor, seLinux
}

const textLimit = 1 << 20

func readText(files fs.FS, name string) string {
	f, err := files.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, textLimit))
	if err != nil {
		return ""
	}
	return string(data)
}

// plain returns the first line of a text without control characters, at most 255 characters.
func plain(text string) string {
	line, _, _ := strings.Cut(strings.Trim(text, " \t\r\n\x00"), "\n")
	return safetext.Head(line, 255)
}

func number(text string, base, bits int) string {
	if _, err := strconv.ParseUint(text, base, bits); err != nil {
		return ""
	}
	return text
}

func kernelLog() string {
	const readAll = 3 // value of SYSLOG_ACTION_READ_ALL in syslog(2)
	buffer := make([]byte, textLimit)
	n, err := unix.Klogctl(readAll, buffer)
	if err != nil || n < 0 {
		return ""
	}
	return string(buffer[:min(n, len(buffer))])
}

const factsTimeout = 20 * time.Second

func (s *Server) facts(ctx context.Context) (f Facts, err error) {
	if len(s.Self) == 0 {
		f = ReadFacts()
	} else if f, err = s.printedFacts(ctx); err != nil {
		return Facts{}, err
	}
	f.Version = plainVersion(s.Version)
	return f, nil
}

func (s *Server) printedFacts(ctx context.Context) (f Facts, err error) {
	order := &startRequest{Args: s.Self, Stdout: true}
	p, err := s.newProgram(order.cost())
	if err != nil {
		return f, fmt.Errorf("facts: %w", err)
	}
	p.start(order, nil)
	defer p.discard()
	if p.failed != nil {
		return f, fmt.Errorf("facts: %w", p.failed)
	}
	limited, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	select {
	case <-p.done:
	case <-limited.Done():
		p.stop("")
		<-p.done
		return f, fmt.Errorf("facts: %v did not print them within %v", s.Self, factsTimeout)
	}
	if p.end.Failure != "" || p.end.Code != 0 {
		return f, fmt.Errorf("facts: %v ended with %d: %s%.500q", s.Self, p.end.Code, p.end.Failure, p.end.Tail)
	}
	text, err := p.fetch(&fetchRequest{Stream: "stdout"})
	if err != nil {
		return f, err
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&f); err != nil {
		return f, fmt.Errorf("facts: %v printed %.200q: %w", s.Self, text, err)
	}
	return f, nil
}
