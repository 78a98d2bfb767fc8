package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// Tool is an external program by which a workload measures, such as fio.
type Tool struct {
	Name    string         // name of the program and of its package
	Version *regexp.Regexp // matches the version in the tool's output, as two groups of digits
	Oldest  [2]int         // oldest version that Tare can use: major, minor
}

// ReadVersion finds the version in the tool's output.
func (t Tool) ReadVersion(text string) (version [2]int, ok bool) {
	m := t.Version.FindStringSubmatch(text)
	if m == nil {
		return version, false
	}
	major, err := strconv.Atoi(m[1])
	minor, wrong := strconv.Atoi(m[2])
	return [2]int{major, minor}, err == nil && wrong == nil
}

func (t Tool) recent(version [2]int) bool { return slices.Compare(version[:], t.Oldest[:]) >= 0 }

// Check returns an error if the tool is too old at a place such as "the volume". text is the output in which the tool
// there gives its version.
func (t Tool) Check(text, where string) error {
	version, ok := t.ReadVersion(text)
	switch {
	case !ok:
		return Invalidf(RuleParse, "%s gives %.40q as its version", t.Name, text)
	case !t.recent(version):
		return fmt.Errorf("%s at %s is version %d.%d; %d.%d or later is needed", t.Name, where, version[0], version[1], t.Oldest[0], t.Oldest[1])
	}
	return nil
}

// Probe looks for the tool on this machine, checks its version and tries it.
func (t Tool) Probe(ctx context.Context, try func(context.Context) error) testbed.Finding {
	missing := func(format string, args ...any) testbed.Finding {
		return testbed.Finding{Name: t.Name, Status: testbed.Missing, Detail: fmt.Sprintf(format, args...), Hint: "apt-get install " + t.Name}
	}
	path, err := exec.LookPath(t.Name)
	if err != nil {
		return missing("%s is not in the PATH", t.Name)
	}
	out, err := testbed.Output(ctx, local.Here, testbed.Host, path, "--version")
	if err != nil {
		return missing("%s --version: %v", path, err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	version, ok := t.ReadVersion(first)
	if !ok || !t.recent(version) {
		return missing("%s is version %.40q; %d.%d or later is needed", path, first, t.Oldest[0], t.Oldest[1])
	}
	if err := try(ctx); err != nil {
		return testbed.Finding{Name: t.Name, Status: testbed.Refused, Detail: err.Error()}
	}
	return testbed.Finding{Name: t.Name, Status: testbed.Works, Detail: fmt.Sprintf("%s, version %d.%d", path, version[0], version[1])}
}

// ProbeVersion reads the version of the program at a path. If the program was not found, err is the error, and hint
// tells the user what to do.
func ProbeVersion(ctx context.Context, name, path string, err error, hint string) testbed.Finding {
	if err != nil {
		return testbed.Finding{Name: name, Status: testbed.Missing, Detail: err.Error(), Hint: hint}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := testbed.Output(ctx, local.Here, testbed.Host, path, "--version")
	if err != nil {
		return testbed.Finding{Name: name, Status: testbed.Refused, Detail: err.Error()}
	}
	return testbed.Finding{Name: name, Status: testbed.Works, Detail: strings.TrimSpace(string(out))}
}

// Start starts the tool as a program under test. The first of the args is the tool's name.
func (t Tool) Start(ctx context.Context, site testbed.Site, where testbed.Place, args []string, stdout, stderr io.Writer) (testbed.Process, error) {
	process, err := site.Start(ctx, where, testbed.Command{Args: args, Env: []string{"LC_ALL=C"}, Stdout: stdout, Stderr: stderr, Subject: true})
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w (install it with: apt-get install %s)", err, t.Name)
	}
	return process, err
}

// Keep records data in a raw file.
func Keep(raw Raw, name string, data []byte) error {
	f, err := raw.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// KeepJSON records a value in a raw file, as one line of JSON.
func KeepJSON(raw Raw, name string, value any) error { return keepJSON(raw, name, value, json.Marshal) }

// KeepIndented records a value in a raw file, as JSON with one line for each member.
func KeepIndented(raw Raw, name string, value any) error {
	return keepJSON(raw, name, value, func(value any) ([]byte, error) { return json.MarshalIndent(value, "", "  ") })
}

func keepJSON(raw Raw, name string, value any, marshal func(any) ([]byte, error)) error {
	text, err := marshal(value)
	if err != nil {
		return err
	}
	return Keep(raw, name, append(text, '\n'))
}
