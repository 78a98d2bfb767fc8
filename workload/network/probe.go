package network

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/toolformat/iperf3"
	"tare/workload"
)

const install = "install it with: apt-get install iperf3"

// oldest is the oldest version of iperf3 that is known to say what is needed.
var oldest = [2]int{3, 12}

// probe tries iperf3 on the loopback interface.
func probe(ctx context.Context) []testbed.Finding {
	f := testbed.Finding{Name: "iperf3", Status: testbed.Missing, Hint: "apt-get install iperf3"}
	path, err := exec.LookPath("iperf3")
	if err != nil {
		f.Detail = "iperf3 is not in the PATH"
		return []testbed.Finding{f}
	}
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		f.Detail = fmt.Sprintf("%s --version: %v", path, err)
		return []testbed.Finding{f}
	}
	version, ok := readVersion(string(out))
	if !ok || old(version) {
		f.Detail = fmt.Sprintf("%s is version %d.%d; %d.%d or later is needed", path, version[0], version[1], oldest[0], oldest[1])
		return []testbed.Finding{f}
	}
	if err := tryLoopback(ctx); err != nil {
		return []testbed.Finding{{Name: "iperf3", Status: testbed.Refused, Detail: err.Error()}}
	}
	f = testbed.Finding{Name: "iperf3", Status: testbed.Works, Detail: fmt.Sprintf("%s, version %d.%d", path, version[0], version[1])}
	if size, err := (pair{site: loopback{}}).buffers(ctx); err == nil && size < wantedBuffer {
		f.Detail += fmt.Sprintf("; UDP socket buffers of %v at most, which makes UDP noisy", quantity.Size(size))
		f.Hint = fmt.Sprintf("sysctl -w net.core.rmem_max=%d net.core.wmem_max=%d", wantedBuffer, wantedBuffer)
	}
	return []testbed.Finding{f}
}

var versionText = regexp.MustCompile(`(?m)^iperf (\d+)\.(\d+)`)

// readVersion finds the version in what iperf3 --version prints.
func readVersion(text string) (version [2]int, ok bool) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return version, false
	}
	for i := range version {
		v, err := strconv.Atoi(m[i+1])
		if err != nil {
			return [2]int{}, false
		}
		version[i] = v
	}
	return version, true
}

func old(version [2]int) bool {
	return version[0] < oldest[0] || version[0] == oldest[0] && version[1] < oldest[1]
}

// recent refuses the report of an iperf3 that is too old: at the site it need not
// be the one of this machine.
func recent(r *iperf3.Report) error {
	version, ok := readVersion(r.Start.Version)
	switch {
	case !ok:
		return workload.Invalidf(workload.RuleParse, "iperf3 gives %.40q as its version", r.Start.Version)
	case old(version):
		return fmt.Errorf("iperf3 at the site is version %d.%d; %d.%d or later is needed", version[0], version[1], oldest[0], oldest[1])
	}
	return nil
}

// tryLoopback measures TCP from this machine to itself for a second.
func tryLoopback(ctx context.Context) error {
	site, err := openLoopback(0)
	if err != nil {
		return err
	}
	c := New().(*Config)
	c.Protocols, c.Paths = factor.Of(TCP), factor.Of(testbed.PodToPod)
	c.Duration, c.Omit = quantity.Duration(time.Second), 0
	measure, err := c.Prepare(ctx, &workload.Trial{Site: site, Raw: workload.Discard})
	if err != nil {
		return err
	}
	_, err = measure(ctx)
	return err
}
