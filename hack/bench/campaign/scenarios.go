//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/procfs"
)

// scenario is something that is killed.
type scenario struct {
	name string
	args func(c *campaign, run string) []string
	last time.Duration // the kill comes before it has gone on for so long
	run  bool          // it records trials
}

var scenarios = []scenario{
	{"run that leaves processes", func(c *campaign, run string) []string {
		return []string{"run", filepath.Join(c.dir, "strays.yaml"), "--dir", run, "-q"}
	}, 6 * time.Second, true},
	{"run with WireGuard", func(c *campaign, run string) []string {
		return []string{"run", filepath.Join(c.dir, "wireguard.yaml"), "--dir", run, "-q"}
	}, 12 * time.Second, true},
	{"run that binds and escapes", func(c *campaign, run string) []string {
		return []string{"run", filepath.Join(c.dir, "bound.yaml"), "--dir", run, "-q"}
	}, 6 * time.Second, true},
	{"run with all layers", func(c *campaign, run string) []string {
		return []string{"run", filepath.Join(c.dir, "machine.yaml"), "--dir", run, "-q"}
	}, 5 * time.Second, true},
	{"run with a volume", func(c *campaign, run string) []string {
		return []string{"run", filepath.Join(c.dir, "volume.yaml"), "--dir", run, "-q"}
	}, 6 * time.Second, true},
	{"run with proxies", func(c *campaign, run string) []string {
		return []string{"run", filepath.Join(c.dir, "proxied.yaml"), "--dir", run, "-q"}
	}, 5 * time.Second, true},
	{"doctor --try", func(c *campaign, _ string) []string {
		return []string{"doctor", "--try", filepath.Join(c.dir, "proxied.yaml")}
	}, 4 * time.Second, false},
	{"report as PDF", func(c *campaign, _ string) []string {
		return []string{"report", filepath.Join(c.dir, "reported"), "-o", "pdf"}
	}, 3 * time.Second, false},
	{"import", func(c *campaign, run string) []string {
		return []string{"import", "csv", filepath.Join(c.dir, "table.csv"), "--dir", run, "-q"}
	}, 800 * time.Millisecond, false},
	{"report", func(c *campaign, _ string) []string {
		return []string{"report", filepath.Join(c.dir, "reported")}
	}, 200 * time.Millisecond, false},
}

// strayed is a program that hides from its Tare, and runs for longer than a kill is waited
// for. No other campaign has the same.
var strayed = fmt.Sprintf("sleep 61.%d", os.Getpid())

const strays = `apiVersion: tare/v1alpha1
kind: Experiment
name: strays
arms: [{name: plain}, {name: other, layers: [{env: {set: {A: "1"}}}]}]
workloads:
  - command:
      shell: >-
        setsid STRAYED & a=$!; env -i setsid STRAYED & b=$!;
        setsid setpriv --reuid 65534 --clear-groups env -i STRAYED & c=$!;
        setsid unshare -Upf --kill-child env -i STRAYED & d=$!;
        command -v bwrap > /dev/null && { setsid bwrap --clearenv --die-with-parent --ro-bind / / STRAYED & e=$!; };
        command -v sudo > /dev/null && { setsid sudo -u nobody env -i STRAYED & f=$!; };
        sleep 0.3; kill -9 $d; kill $a $b $c $e $f; wait; echo took 3 ms
      metrics: [{name: took, unit: ms, better: lower, regex: 'took ([0-9]+) ms'}]
design: {rounds: 6}
limits: {foreignCPU: none, steal: none, throttling: none}
`

// bound has a server that mounts a directory below its own, and a program that leaves all that holds it.
const bound = `apiVersion: tare/v1alpha1
kind: Experiment
name: bound
arms: [{name: plain}, {name: other, layers: [{env: {set: {A: "1"}}}]}]
workloads:
  - command:
      server: {run: [sh, -c, 'mkdir $TARE_SCRATCH/root; mount --bind VICTIM $TARE_SCRATCH/root; exec iperf3 -s -p 8099'], port: 8099}
      shell: >-
        (setsid sh -c 'echo 0 >CGROUPS/cgroup.procs; exec env -i STRAYED' >/dev/null 2>&1 &);
        iperf3 -c $TARE_PEER -p 8099 -n 60M >/dev/null; until pkill -f '^STRAYED'; do sleep 0.1; done; echo took 3.$$ ms
      metrics: [{name: took, unit: ms, better: lower, regex: 'took ([0-9.]+) ms'}]
design: {rounds: 3}
limits: {foreignCPU: none, steal: none, throttling: none}
`

// layers are all arms that doctor finds to work; machine has those that stand around programs.
const machine = `apiVersion: tare/v1alpha1
kind: Experiment
name: machine
arms: [{name: plain}LAYERS]
workloads: [{command: {shell: 'sleep 0.1; echo took 3.$$ ms', metrics: [{name: took, unit: ms, better: lower, regex: 'took ([0-9.]+) ms'}], expect: 300ms}}]
design: {rounds: 2}
limits: {foreignCPU: none, steal: none, throttling: none}
`

const volume = `apiVersion: tare/v1alpha1
kind: Experiment
name: volume
testbed: local
arms: [{name: plain}, {name: gocryptfs, layers: [LAYER]}]
workloads: [{storage: {operations: randread, blockSize: 4KiB, engine: psync, ioDepth: 1, direct: false, size: 16MiB, duration: 1s, ramp: 0s}}]
design: {rounds: 2}
limits: {foreignCPU: none, steal: none, throttling: none}
`

const proxied = `apiVersion: tare/v1alpha1
kind: Experiment
name: proxied
testbed: {local: {link: {rate: 200Mbit, mtu: 1500}}}
arms: [{name: direct}, {name: mtls, layers: [mtls: {mode: mtls, proxy: haproxy}]}]
workloads: [{http: {rate: 50/s, connections: 4, duration: 1s, warmup: 200ms, late: 100%}}]
design: {rounds: 2}
limits: {foreignCPU: none, steal: none, throttling: none}
`

const wireguard = `apiVersion: tare/v1alpha1
kind: Experiment
name: wireguard
testbed: {local: {link: {rate: 100Mbit}}}
arms: [{name: plain}, {name: wireguard, layers: [{wireguard: {}}]}]
workloads: [{network: {paths: [pod-to-pod], protocols: [tcp], duration: 1s, omit: 0s}}]
design: {rounds: 3}
limits: {foreignCPU: none, steal: none, throttling: none}
`

// layers gives the arms of those layers in front of programs that work here, and one for volumes.
func (c *campaign) layers() (arms, volumes string, err error) {
	out, err := exec.Command(c.tare, "doctor", "-o", "json").Output()
	var parts []struct {
		Kind, Name string
		Findings   []struct{ Name, Status string }
	}
	if err = errors.Join(err, json.Unmarshal(out, &parts)); err != nil {
		return "", "", fmt.Errorf("doctor: %w", err)
	}
	volumes = "env: {set: {A: \"1\"}}"
	for _, p := range parts {
		works := slices.ContainsFunc(p.Findings, func(f struct{ Name, Status string }) bool { return f.Status == "works" && f.Name != "kvm" })
		switch {
		case p.Kind != "layer" || !works:
		case p.Name == "gocryptfs":
			volumes = p.Name
		case slices.Contains([]string{"gvisor", "bubblewrap", "firejail", "userns", "unshare", "landlock", "seccomp", "apparmor", "bpflsm", "cgroup-bpf"}, p.Name):
			arms += fmt.Sprintf(", {name: %s, layers: [%s]}", p.Name, p.Name)
		}
	}
	return arms, volumes, nil
}

// cgroups is where the hierarchy of version 2 is mounted.
func cgroups() string {
	mounts, _ := procfs.GetMounts()
	for _, m := range mounts {
		if m.FSType == "cgroup2" {
			return m.MountPoint
		}
	}
	return "/sys/fs/cgroup"
}
