package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// Probe tests every part of a local network in temporary namespaces. Before a needed user namespace is entered, it only
// tests whether that is allowed.
func Probe(ctx context.Context) []testbed.Finding {
	findings := []testbed.Finding{probeUserNamespace(ctx)}
	n := &network{site: &site{places: map[testbed.Place]*thread{}}, mtu: 1500}
	defer n.close()
	steps := []struct {
		name string
		try  func() error
		hint string
	}{
		{"network namespaces", n.probeNamespaces, userNamespaceHint()},
		{"bridge", n.buildWire, "modprobe bridge"},
		{"virtual cables", n.probeCables, "modprobe veth"},
		{Shaping, func() error { return n.nodes[0].tryShape(testbed.Shape{Rate: 1e9, MTU: n.mtu}) }, "modprobe sch_tbf"},
		{"nftables dnat", func() error { return n.nodes[0].Do(addService) }, "modprobe -a nf_tables nft_chain_nat nf_nat"},
	}
	var missing string // name of the first step that failed; steps after it cannot work, and are not tried
	for i, step := range steps {
		finding := testbed.Finding{Name: step.name, Status: testbed.Works}
		if missing != "" {
			finding.Status, finding.Detail = testbed.Refused, "not tried without "+missing
		} else if err := step.try(); err != nil {
			finding.Status, finding.Detail, finding.Hint = refusal(err), err.Error(), step.hint
			if i < 3 {
				missing = step.name
			}
		}
		findings = append(findings, finding)
	}
	return findings
}

// refusal returns the status that follows from the error of a test: Refused if the kernel forbids the feature, or
// Missing if the kernel lacks it.
func refusal(err error) testbed.Status {
	if errors.Is(err, fs.ErrPermission) {
		return testbed.Refused
	}
	return testbed.Missing
}

// probeUserNamespace starts a program in a new user namespace and network namespace. Systems may refuse either
// namespace.
func probeUserNamespace(ctx context.Context) testbed.Finding {
	f := testbed.Finding{Name: "user namespace", Status: testbed.Works}
	if os.Getenv(UserNamespaceVariable) != "" && !NeedsUserNamespace() {
		f.Detail = "this runs in one"
		return f
	}
	program, err := exec.LookPath("true")
	if err != nil {
		f.Status, f.Detail = testbed.Missing, err.Error()
		return f
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.SysProcAttr = inUserNamespace()
	cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNET
	if err := cmd.Run(); err != nil {
		f.Status, f.Detail, f.Hint = testbed.Refused, err.Error(), userNamespaceHint()
	} else if !NeedsUserNamespace() {
		f.Detail = "not needed: this process has the rights without"
	}
	return f
}

func userNamespaceHint() string {
	for _, switchOff := range []struct{ file, forbids, hint string }{
		{"kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"},
		{"user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		value, err := os.ReadFile("/proc/sys/" + switchOff.file)
		if err == nil && strings.TrimSpace(string(value)) == switchOff.forbids {
			return "as root: " + switchOff.hint + "; or run Tare as root"
		}
	}
	if os.Geteuid() == 0 {
		return "the container around Tare does not allow it: give it the capabilities NET_ADMIN and SYS_ADMIN, run Tare outside of it, or measure between pods (testbed: kubernetes)"
	}
	return "this system (or the container around it) does not allow user namespaces: run Tare as root"
}

func (n *network) probeNamespaces() error {
	var err error
	if n.wire, err = openSpace("wire"); err != nil {
		return err
	}
	s, err := openSpace(string(testbed.ClientNode))
	if err != nil {
		return err
	}
	n.nodes = append(n.nodes, &node{netNamespace: s, network: n, place: testbed.ClientNode})
	return s.sysctl("ipv4/ip_forward", "1")
}

func (n *network) probeCables() error {
	if err := cable(n.nodes[0].netNamespace, ethernet, n.wire, "node1", n.mtu); err != nil {
		return err
	}
	return n.plugIn("node1")
}

func (n *node) tryShape(want testbed.Shape) error {
	if err := n.shape(want); err != nil {
		return err
	}
	_, got, _, err := n.shaped()
	if err == nil && got != want {
		err = fmt.Errorf("the kernel took %+v but shows %+v", want, got)
	}
	return err
}

// ProbeDelays tests whether this kernel can delay and drop packets of the wire. It uses temporary namespaces.
func ProbeDelays() testbed.Finding {
	f := testbed.Finding{Name: Delays, Status: testbed.Works}
	n := &network{site: &site{places: map[testbed.Place]*thread{}}, mtu: 1500}
	defer n.close()
	for _, try := range []func() error{n.probeNamespaces, n.buildWire, n.probeCables, func() error {
		return n.nodes[0].tryShape(testbed.Shape{Rate: 1e9, MTU: n.mtu, Delay: time.Millisecond})
	}} {
		if err := try(); err != nil {
			f.Status, f.Detail, f.Hint = refusal(err), err.Error(), "modprobe sch_netem"
			break
		}
	}
	return f
}

// ProbeVolume tries whether this machine can make a volume, of 64 MiB.
func ProbeVolume(ctx context.Context) []testbed.Finding {
	f := testbed.Finding{Name: "loop device with direct I/O, and ext4", Status: testbed.Works}
	err := Try(ctx, experiment.Needs{Volume: &experiment.Volume{Size: 64 << 20}}, func(site testbed.Site) error {
		v := site.(volumeSite)
		err := v.Ready(ctx)
		if err == nil && v.mark.Found == 0 {
			err = errors.New("data written to the volume cannot be found on its device")
		}
		return err
	})
	if err != nil {
		f.Status, f.Detail = refusal(err), err.Error()
		if NeedsUserNamespace() || os.Getenv(UserNamespaceVariable) != "" {
			f.Status, f.Hint = testbed.Refused, "run tare as root"
		}
	}
	return []testbed.Finding{f}
}

// ProbePrograms reports whether Tare tracks the processes of a program by cgroups.
func ProbePrograms() []testbed.Finding {
	f := testbed.Finding{Name: "cgroups", Status: testbed.Works, Detail: "each program has one, and all its processes end with it"}
	if all, err := process.OpenScopes(); err != nil {
		f.Status, f.Hint = refusal(err), "as root, Tare makes them"
		if os.Geteuid() == 0 {
			f.Hint = "a container's runtime may forbid them: its profile of seccomp must allow clone3, and its rights CAP_SYS_ADMIN"
		}
		f.Detail = "Tare identifies a program's processes by descent and environment instead: " + err.Error()
	} else {
		all.Close()
	}
	return []testbed.Finding{f}
}
