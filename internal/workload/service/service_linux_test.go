package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/experiment/quantity"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("SERVER") != "" && testbed.HelperName() == "" {
		serve(os.Getenv("SERVER"))
	}
	localtest.Main(m, Helper)
}

func serve(how string) {
	fmt.Println("starting", how)
	switch how {
	case "fails":
		fmt.Fprintln(os.Stderr, "no such certificate")
		os.Exit(3)
	case "never":
		time.Sleep(time.Hour)
	}
	listener, err := net.Listen("tcp", ":"+os.Getenv("TARE_PORT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening")
	var handler http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("asked for", r.URL.Path)
		switch r.URL.Path {
		case "/end":
			os.Exit(7)
		case "/work":
			for start := cpu(); cpu()-start < 50*time.Millisecond; {
			}
		case "/ready":
			if how == "unready" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
	}
	_ = http.Serve(listener, handler)
	os.Exit(1)
}

// cpu returns the CPU time of this process.
func cpu() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

// server returns the configuration of a server under test.
func server(t *testing.T, how string) Config {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var c Config
	c.Run, c.Env = []string{self, "$(TARE_PORT)"}, map[string]string{"SERVER": how}
	c.Ready.Within = quantity.Duration(time.Hour)
	return c
}

func setUp(t *testing.T, site testbed.Site, c Config, number int) (*Server, error) {
	s, err := c.SetUp(t.Context(), workload.SetUp{Site: site, Number: number})
	if err == nil {
		t.Cleanup(func() { _ = s.Down(context.Background()) })
	}
	return s, err
}

// ask sends a request from the client's pod.
func ask(t *testing.T, site testbed.Site, url string) error {
	process, err := site.Start(t.Context(), testbed.ClientPod, testbed.Command{Args: []string{"curl", "-s", "-S", "-o", "/dev/null", url}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = process.Wait()
	return err
}

func TestServer(t *testing.T) {
	site := localtest.Network(t, 0, 1500)
	s, err := setUp(t, site, server(t, "well"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := setUp(t, site, server(t, "well"), 1)
	if err != nil {
		t.Fatalf("a second server at the site: %v", err)
	}
	if s.Address[testbed.PodToPod] == other.Address[testbed.PodToPod] {
		t.Error("two servers with one port")
	}
	before, err := Begin(s)
	if err != nil {
		t.Fatal(err)
	}
	for path, at := range s.Address {
		if err := ask(t, site, "http://"+at.String()+"/work"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	used, err := before.Since(s)
	if err != nil || used.CPU() < 80*time.Millisecond || used.CPU() > 5*time.Second || used.MaxRSS < 1<<20 {
		t.Errorf("it worked for 0.1 s and used %+v, %v", used, err)
	}
	raw := new(workloadtest.Raw)
	if err := s.Log(raw); err != nil {
		t.Fatal(err)
	}
	if got := raw.Texts()["server.log"]; !strings.HasSuffix(got, "asked for /work\nasked for /work\n") {
		t.Errorf("log %q", got)
	}
	_ = ask(t, site, "http://"+s.Address[testbed.PodToPod].String()+"/end")
	<-s.Ended()
	err = s.BrokenRule(t.Context())
	var invalid *workload.Invalid
	if !errors.As(err, &invalid) || invalid.Rule != workload.RuleServer || !strings.Contains(invalid.Detail, "exit status 7") || !strings.Contains(invalid.Detail, "asked for /end") {
		t.Errorf("after its end: %v", err)
	}
	if err := s.Check(t.Context()); err == nil {
		t.Error("a server that has ended is whole")
	}
	if err := other.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if err := ask(t, site, "http://"+other.Address[testbed.PodToPod].String()+"/"); err == nil {
		t.Error("a server that was taken down answers")
	}
}

func TestRealTimeServerThatIsNotReady(t *testing.T) {
	m := fit.Machine(t)
	site := localtest.Network(t, 0, 1500)
	for how, want := range map[string]string{
		"fails":   "before it was ready: the server has ended: ",
		"never":   "is not ready after 1s: 198.18.12.2:5210: dial tcp 198.18.12.2:5210: connect: connection refused; its last output: starting never",
		"unready": "is not ready after 1s: 198.18.12.2:5210: status 503 Service Unavailable; its last output: ",
		"silent":  "is not ready after 1s: its output does not match ^hello$",
	} {
		c := server(t, how)
		switch how {
		case "unready":
			c.Ready.Path = "/ready"
		case "silent":
			c.Ready.Log = "^hello$"
		}
		if how != "fails" {
			c.Ready.Within = quantity.Duration(time.Second)
		}
		_, err := setUp(t, site, c, 0)
		if err == nil || !strings.Contains(err.Error(), want) || how == "fails" && !strings.Contains(err.Error(), "no such certificate") {
			m.Errorf("%s: %v, want %s", how, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	c := Config{Port: 70000, Ready: Ready{Path: "health", Log: "("}}
	var fields []string
	for _, e := range c.Validate("server") {
		fields = append(fields, e.Field)
	}
	if got, want := strings.Join(fields, " "), "server.run server.port server.ready.path server.ready.log"; got != want {
		t.Errorf("refused: %s, want %s", got, want)
	}
	if errs := server(t, "well"); len(errs.Validate("server")) > 0 {
		t.Errorf("%v", errs.Validate("server"))
	}
}
