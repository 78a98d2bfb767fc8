package agent

import (
	"bytes"
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

	"tare/machine"
	"tare/machine/proc"
	"tare/safetext"
)

// view is what there is to be seen of the system a process runs on.
type view struct {
	files   fs.FS  // its root
	release string // uname -r
	version string // uname -v
	log     string // the kernel's, where it may be read
}

// ReadFacts gives what this process sees of itself and of its kernel. Evidence of
// a layer is read as a program would read it, so the agent has it read by a
// process that was started as programs are.
func ReadFacts() Facts {
	v := view{files: os.DirFS("/"), log: kernelLog()}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		v.release, v.version = unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Version[:])
	}
	f := v.facts()
	f.UID = os.Getuid()
	if f.NoNewPrivs == "" { // gVisor's status does not tell
		if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil {
			f.NoNewPrivs = strconv.Itoa(on)
		}
	}
	e := machine.Describe(context.Background(), "", nil, nil)
	f.CPUModel, f.CPUs, f.Hypervisor = plain(e.CPU.Model), e.CPU.Usable, e.Hypervisor != ""
	if f.Confidential == "" {
		f.Confidential = e.Confidential
	}
	return f
}

// facts reads what files and the kernel log tell.
func (v view) facts() Facts {
	status := []byte(v.text("proc/self/status"))
	seccomp := map[string]string{"0": "disabled", "1": "strict", "2": "filter"}
	f := Facts{
		Kernel:       plain(v.release),
		KernelTag:    plain(v.version),
		Sandbox:      v.sandbox(),
		Seccomp:      seccomp[proc.Field(status, "Seccomp")],
		NoNewPrivs:   bit(proc.Field(status, "NoNewPrivs")),
		CapEff:       hexadecimal(proc.Field(status, "CapEff")),
		CapBnd:       hexadecimal(proc.Field(status, "CapBnd")),
		UIDMap:       plain(strings.Join(strings.Fields(v.text("proc/self/uid_map")), " ")),
		BootID:       plain(v.text("proc/sys/kernel/random/boot_id")),
		Confidential: v.confidential(),
	}
	f.AppArmor, f.SELinux = v.labels()
	return f
}

// sandbox tells a sandbox by what only its kernel has. gVisor's own log says so to
// every user; where a seccomp profile hides the log, its release and its build
// date (that of its first commit) tell. Kata's guests are told by the command line
// of their kernel and by their shared file system; that is untried.
func (v view) sandbox() string {
	commandLine, mounts := v.text("proc/cmdline"), v.text("proc/self/mountinfo")
	switch {
	case strings.Contains(v.log, "Starting gVisor"),
		strings.Contains(v.release, "gvisor"), strings.Contains(v.version, "gvisor"),
		strings.Contains(v.text("proc/version"), "gvisor"),
		strings.Contains(v.version, "Sun Jan 10 15:06:54 PST 2016"):
		return "gvisor"
	case strings.Contains(commandLine, "kata-containers"), strings.Contains(mounts, "kataShared"):
		return "kata"
	}
	return ""
}

// confidential tells a confidential VM by what its kernel says of itself.
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

// confinement is the form of what AppArmor writes: a profile and its mode.
var confinement = regexp.MustCompile(`^(unconfined|.+ \((enforce|complain|kill|unconfined|mixed|prompt)\))$`)

// labels gives the AppArmor profile and the SELinux context in force. The file
// attr/current belongs to whichever of them came first.
func (v view) labels() (appArmor, seLinux string) {
	appArmor = plain(v.text("proc/self/attr/apparmor/current"))
	current := plain(v.text("proc/self/attr/current"))
	switch {
	case appArmor == "" && confinement.MatchString(current):
		appArmor = current
	case appArmor != current && strings.Count(current, ":") >= 3:
		seLinux = current
	}
	return appArmor, seLinux
}

// textLimit bounds what is read of a file.
const textLimit = 1 << 20

// text reads the beginning of a file; "" where it cannot.
func (v view) text(name string) string { return readText(v.files, name) }

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

// plain is the first line of a text.
func plain(text string) string {
	line, _, _ := strings.Cut(strings.Trim(text, " \t\r\n\x00"), "\n")
	return safetext.Head(line, 255)
}

func bit(text string) string {
	if text == "0" || text == "1" {
		return text
	}
	return ""
}

func hexadecimal(text string) string {
	if _, err := strconv.ParseUint(text, 16, 64); err != nil {
		return ""
	}
	return text
}

// kernelLog reads what the kernel has said, where this process may.
func kernelLog() string {
	const readAll = 3 // SYSLOG_ACTION_READ_ALL of syslog(2)
	buffer := make([]byte, textLimit)
	n, err := unix.Klogctl(readAll, buffer)
	if err != nil || n < 0 {
		return ""
	}
	return string(buffer[:min(n, len(buffer))])
}

// factsLimit is how long a process of the agent's may take to tell its facts.
const factsLimit = 20 * time.Second

// facts has a process that is started as programs are tell what it sees.
func (s *Server) facts(ctx context.Context) (Facts, error) {
	if len(s.Self) == 0 {
		f := ReadFacts()
		f.Version = plainVersion(s.Version)
		return f, nil
	}
	order := &startOrder{Args: s.Self, Stdout: true}
	p, err := s.newProgram(order.cost())
	if err != nil {
		return Facts{}, fmt.Errorf("facts: %w", err)
	}
	p.start(order, nil)
	defer p.discard()
	if p.failed != nil {
		return Facts{}, fmt.Errorf("facts: %w", p.failed)
	}
	limited, cancel := context.WithTimeout(ctx, factsLimit)
	defer cancel()
	select {
	case <-p.done:
	case <-limited.Done():
		p.stop("")
		<-p.done
		return Facts{}, fmt.Errorf("facts: %v did not tell them within %v", s.Self, factsLimit)
	}
	if p.end.Failure != "" || p.end.Code != 0 {
		return Facts{}, fmt.Errorf("facts: %v ended with %d: %s%.500q", s.Self, p.end.Code, p.end.Failure, p.end.Tail)
	}
	text, err := p.fetch(&fetchOrder{Stream: "stdout"})
	if err != nil {
		return Facts{}, err
	}
	var f Facts
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&f); err != nil {
		return Facts{}, fmt.Errorf("facts: %v said %.200q: %w", s.Self, text, err)
	}
	f.Version = plainVersion(s.Version)
	return f, nil
}
