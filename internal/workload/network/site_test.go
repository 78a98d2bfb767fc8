package network

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/quantity"
	"tare/internal/workload/workloadtest"
)

// TestBehindAProxy has a proxy beside the client, which drops the client twice because the server does not listen
// yet.
func TestBehindAProxy(t *testing.T) {
	for _, message := range []string{
		"unable to receive control message: Connection reset by peer",
		"unable to send cookie to server: Connection reset by peer",
		"control socket has closed unexpectedly",
		"unable to connect to server: Connection refused",
	} {
		tries := t.TempDir() + "/tries"
		site := script{
			client: `echo >> ` + tries + `; [ $(wc -l < ` + tries + `) -gt 2 ] || { echo '{"start": {}, "error": "` + message + `"}'; exit 1; }; cat testdata/tcp-upload-client.json`,
			server: "cat testdata/tcp-upload-server.json; while [ ! -e " + tries + " ] || [ $(wc -l < " + tries + ") -lt 3 ]; do sleep 0.01; done",
		}
		site.port = 7
		c := short(tcp, upload, 1)
		c.Duration = quantity.Duration(2 * time.Second)
		r, err := run(t.Context(), c, site, new(workloadtest.Raw))
		if err != nil || r.Values["tcp-bandwidth"] <= 0 {
			t.Errorf("%s: %v, %v", message, r.Values, err)
		}
	}
}

// TestOtherPrograms checks that runs which cannot be compared with other arms are refused.
func TestOtherPrograms(t *testing.T) {
	client, server := file(t, "tcp-upload-client.json"), file(t, "tcp-upload-server.json")
	tests := []struct{ name, client, server, want string }{
		{"old client", strings.Replace(client, "iperf 3.12", "iperf 3.9", 1), server, "iperf3 at the site is version 3.9; 3.12 or later is needed"},
		{"old server", client, strings.Replace(server, "iperf 3.12", "iperf 2.1.8", 1), "iperf3 at the site is version 2.1; 3.12 or later is needed"},
		{"no version", strings.Replace(client, "iperf 3.12", `\u001b]0;x`, 1), server, `parse: iperf3 gives "\x1b]0;x" as its version`},
		{"new", strings.Replace(client, "iperf 3.12", "iperf 3.19+ (cJSON 1.7.15)", 1), server, ""},
	}
	for _, test := range tests {
		dir := t.TempDir()
		for name, text := range map[string]string{"client": test.client, "server": test.server} {
			if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		site := script{client: "cat " + dir + "/client", server: "cat " + dir + "/server"}
		site.port = 7
		c := short(tcp, upload, 1)
		c.Duration = quantity.Duration(2 * time.Second)
		_, err := run(t.Context(), c, site, new(workloadtest.Raw))
		if got := fmt.Sprint(err); test.want == "" && err != nil || test.want != "" && got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestSmallDatagrams refuses the segment size that TCP assumes for unknown paths.
func TestSmallDatagrams(t *testing.T) {
	client, err := parse([]byte(file(t, "gvisor-udp-client.json")))
	if err != nil {
		t.Fatal(err)
	}
	want := `the client's system ("Linux vm 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016 x86_64") does not give the largest datagram that the path takes: set one size for all arms, such as datagram: 1400B`
	if err := (runOptions{fits: true}).sized(client); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, o := range []runOptions{
		short(udp, upload, 1).udpOptions(peers{}, "", 1e6, time.Second, 0),
		{},
	} {
		client.Start.TestStart.Block = 1448
		if err := o.sized(client); err != nil {
			t.Error(err)
		}
	}
}

// TestUnavailableRetransmits runs a whole trial with output from gVisor.
func TestUnavailableRetransmits(t *testing.T) {
	site := script{client: "cat testdata/gvisor-tcp-client.json", server: "cat testdata/gvisor-tcp-server.json"}
	site.port = 7
	r, err := run(t.Context(), short(tcp, upload, 1), site, new(workloadtest.Raw))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := r.Values["tcp-retransmits"]; ok || fmt.Sprint(r.Unavailable) != "[tcp-retransmits]" {
		t.Errorf("retransmits are %v, and %v is not told", v, r.Unavailable)
	}
}
