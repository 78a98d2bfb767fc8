package network

import (
	"context"
	"errors"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

// short is a config for tests.
func short(p protocol, d direction, streams int) *Config {
	c := New().(*Config)
	c.Protocols, c.Paths, c.Direction, c.Streams = factor.Of(p), factor.Of(testbed.PodToPod), factor.Of(d), factor.Of(streams)
	c.Duration, c.Omit = quantity.Duration(time.Second), 0
	return c
}

func run(ctx context.Context, w workload.Workload, site testbed.Site, raw workload.Raw) (workload.Result, error) {
	return workloadtest.Run(ctx, w, &workload.Trial{Site: site, Raw: raw})
}

func needIperf3(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("iperf3 is not installed:", err)
	}
}

func TestLoopback(t *testing.T) {
	needIperf3(t)
	tests := []struct {
		name     string
		config   *Config
		values   []string
		optional []string
		files    []string
	}{
		{"tcp", short(tcp, upload, 1), []string{"tcp-bandwidth", "tcp-retransmits", "tcp-rtt"}, nil,
			[]string{"iperf3-client.json", "iperf3-server.json"}},
		{"tcp both ways", short(tcp, both, 2), []string{"tcp-bandwidth", "tcp-retransmits", "tcp-rtt"}, nil,
			[]string{"iperf3-client.json", "iperf3-server.json"}},
		{"udp", short(udp, download, 2), []string{"udp-bandwidth", "udp-loss"}, []string{"udp-jitter"},
			[]string{"iperf3-client.json", "iperf3-server.json", "search-01-client.json", "search-01-server.json", "search.json"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			site, err := openLoopback(50e6)
			if err != nil {
				t.Fatal(err)
			}
			var raw workloadtest.Raw
			r, err := run(t.Context(), test.config, site, &raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range test.values {
				if _, ok := r.Values[name]; !ok {
					t.Errorf("no %s in %v", name, r.Values)
				}
			}
			for name, v := range r.Values {
				if !slices.Contains(append(test.values, test.optional...), name) || math.IsNaN(v) || v < 0 {
					t.Errorf("%s = %v is not expected", name, v)
				}
			}
			if r.Used["client"].CPU() <= 0 || r.Used["server"].CPU() <= 0 || r.Work <= 0 || float64(r.Sent)*8/1e9 < r.Work*(1-1e-9) {
				t.Errorf("used %+v, work %v Gbit, sent %v B", r.Used, r.Work, r.Sent)
			}
			for _, name := range test.files {
				if raw.Texts()[name] == "" {
					t.Errorf("no %s in %v", name, raw.Names())
				}
			}
		})
	}
}

func TestProbe(t *testing.T) {
	needIperf3(t)
	for _, f := range probe(t.Context()) {
		if f.Status != testbed.Works {
			t.Errorf("%+v", f)
		}
	}
	t.Setenv("PATH", t.TempDir())
	want := []testbed.Finding{{Name: "iperf3", Status: testbed.Missing, Detail: "iperf3 is not in the PATH", Hint: "apt-get install iperf3"}}
	if diff := cmp.Diff(want, probe(t.Context())); diff != "" {
		t.Error(diff)
	}
}

// script is a site on which iperf3 is a shell script.
type script struct {
	loopback
	client, server string
}

func (s script) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	text := s.client
	if where == testbed.ServerPod {
		text = s.server
	}
	cmd.Args = []string{"sh", "-c", text}
	return s.loopback.Start(ctx, where, cmd)
}

func TestFailures(t *testing.T) {
	const refused = `echo '{"error": "unable to connect to server: Connection refused"}'`
	tests := []struct {
		name   string
		site   script
		want   string
		client string // output of the client that is kept
	}{
		{"server cannot listen", script{client: refused, server: `echo '{"error": "unable to start listener for connections: Address already in use"}'; exit 1`},
			"exit-status: iperf3 server: unable to start listener for connections: Address already in use",
			"{\"error\": \"unable to connect to server: Connection refused\"}\n"},
		{"client fails without JSON", script{client: "echo oops >&2; exit 3", server: "exec sleep 60"},
			"exit-status: iperf3 client: sh -c 'echo oops >&2; exit 3': exit status 3: oops", ""},
		{"client says nothing", script{client: "true", server: "exec sleep 60"}, "parse: iperf3 client: no output", ""},
		{"client says no JSON", script{client: "echo '{'", server: "exec sleep 60"},
			"parse: iperf3 client: JSON of 2 bytes: unexpected end of JSON input", "{\n"},
		{"server is killed", script{client: "cat testdata/tcp-upload-client.json", server: "kill -9 $$"},
			"exit-status: iperf3 server: sh -c 'kill -9 $$': signal: killed", file(t, "tcp-upload-client.json")},
		{"wrong length", script{client: "cat testdata/tcp-upload-client.json", server: "cat testdata/tcp-upload-server.json"},
			"parse: iperf3 output: the intervals cover 2 of 5 seconds", file(t, "tcp-upload-client.json")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.site.port = 7
			c := short(tcp, upload, 1)
			if test.name == "wrong length" {
				c.Duration = quantity.Duration(5 * time.Second)
			}
			var raw workloadtest.Raw
			_, err := run(t.Context(), c, test.site, &raw)
			var invalid *workload.Invalid
			if !errors.As(err, &invalid) || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if got, kept := raw.Texts()["iperf3-client.json"]; !kept || got != test.client {
				t.Errorf("kept %q, want %q", got, test.client)
			}
		})
	}
}

func TestCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	site := script{client: "exec sleep 60", server: "exec sleep 60"}
	site.port = 7
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := run(ctx, short(tcp, upload, 1), site, new(workloadtest.Raw))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := run(t.Context(), short(tcp, upload, 1), loopback{port: 7}, new(workloadtest.Raw))
	if err == nil || !strings.Contains(err.Error(), "install it with: apt-get install iperf3") {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	c := New().(*Config)
	if errs := c.validate(); len(errs) != 0 {
		t.Errorf("the defaults are wrong: %v", errs)
	}
	c.Duration, c.Omit, c.Probe = quantity.Duration(1500*time.Millisecond), quantity.Duration(2*time.Minute), 0
	c.Streams, c.Datagram = factor.Of(1, 0, 200), factor.Of[quantity.Size](0, 4)
	c.LossLimit, c.Congestion = 1, "cubic; rm"
	want := []experiment.FieldError{
		{Field: "duration", Message: "1.5s is not a number of whole seconds from 1s to 1h, which is what iperf3 takes"},
		{Field: "omit", Message: "2m is not a number of whole seconds from 0s to 1m, which is what iperf3 takes"},
		{Field: "probe", Message: "0s is not a number of whole seconds from 1s to 1m, which is what iperf3 takes"},
		{Field: "streams[1]", Message: "0 is not a number of streams from 1 to 128"},
		{Field: "streams[2]", Message: "200 is not a number of streams from 1 to 128"},
		{Field: "datagram[1]", Message: "4B is not 0B (as large as the path takes) or a size from 16B to 65507B"},
		{Field: "lossLimit", Message: "100% is not less than 100%"},
		{Field: "congestion", Message: `"cubic; rm" is not the name of a congestion control such as cubic or bbr`},
	}
	if diff := cmp.Diff(want, c.validate()); diff != "" {
		t.Error(diff)
	}
}

func TestMetrics(t *testing.T) {
	for p, want := range map[protocol][]string{
		tcp: {"tcp-bandwidth", "tcp-retransmits", "tcp-rtt", "tcp-cpu"},
		udp: {"udp-bandwidth", "udp-loss", "udp-jitter", "udp-cpu"},
	} {
		var got []string
		for _, m := range short(p, upload, 1).Measures().All() {
			got = append(got, m.Name)
		}
		if diff := cmp.Diff(want, got[:4]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestUDPOrder(t *testing.T) {
	c := short(udp, download, 4)
	tests := []struct {
		rate float64
		want string
	}{
		{0, "-t 3 -i 0.25 -P 4 -R -u -b 0 -w 212992"},
		{1e9, "-t 3 -i 0.25 -P 4 -R -u -b 250000000 -w 212992"},
		{8e9, "-t 3 -i 0.25 -P 4 -R -u -b 2000000000 --pacing-timer 500 -w 212992"},
		{1e12, "-t 3 -i 0.25 -P 4 -R -u -b 250000000000 --pacing-timer 20 -w 212992"},
	}
	for _, test := range tests {
		got := strings.Join(c.udpOptions(peers{buffer: 212992}, "", test.rate, 2*time.Second, time.Second).arguments(), " ")
		if got != test.want {
			t.Errorf("%v bit/s:\ngot  %s\nwant %s", test.rate, got, test.want)
		}
	}
}

func TestGranted(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"212992\n212992\n", 212992, true},
		{"4194304\n8388608\n", 2 << 20, true},
		{"4194304\n1048576\n", 1 << 20, true},
		{"212992\n", 212992, false},
		{"", 2 << 20, false},
		{"x\n1\n", 0, false},
		{"0\n1\n", 0, false},
	}
	for _, test := range tests {
		got, ok := granted(test.text)
		if ok != test.ok || got != test.want {
			t.Errorf("granted(%q): got %d, %v; want %d, %v", test.text, got, ok, test.want, test.ok)
		}
	}
}

func TestBuffersOfThisMachine(t *testing.T) {
	size, err := peers{site: loopback{}}.buffers(t.Context())
	if err != nil || size < 4096 || size > wantedBuffer {
		t.Errorf("got %d, %v", size, err)
	}
}
