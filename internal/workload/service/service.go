package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
)

// Config is the configuration of a program that is the server.
type Config struct {
	Run   reference.Arguments `yaml:"run" json:"run" required:"true" doc:"program and arguments of the server; they may hold $NAME, $(file:PATH) and $(TARE_PORT)"`
	Image string              `yaml:"image" json:"image,omitempty" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,500}$" form:"the reference of an image" doc:"image of the arm's pods on a cluster, which holds the program; the testbed's if absent. On this machine the program must be installed"`
	Env   environ.Variables   `yaml:"env" json:"env,omitempty" doc:"environment variables to add; Tare adds TARE_PORT"`
	Dir   string              `yaml:"dir" json:"dir,omitempty" doc:"working directory; if absent, the directory that tare was started in"`
	Port  int                 `yaml:"port" json:"port,omitempty" doc:"port that the server listens on; if absent a port that the testbed's service forwards, given as TARE_PORT"`
	Ready Ready               `yaml:"ready" json:"ready" doc:"when the server counts as ready"`
}

// Declare adds the server's needs to a declaration. A Config without a program adds nothing.
func (c *Config) Declare(d *experiment.Declaration) {
	if c != nil && len(c.Run) > 0 {
		d.Needs.Image = c.Image
		d.Programs = []experiment.Program{{Name: c.Run[0], Dir: c.Dir, Where: experiment.AtSite}}
	}
}

// Ready is the condition under which a server counts as ready.
type Ready struct {
	Path   string            `yaml:"path" json:"path,omitempty" doc:"path that must answer over HTTP with a status of 2xx; with neither path nor log, the server must accept a connection"`
	Log    string            `yaml:"log" json:"log,omitempty" doc:"regular expression that the server's output must match; ^ and $ match at each line"`
	Within quantity.Duration `yaml:"within" json:"within,omitempty" doc:"time within which the server must be ready; 30s if absent"`
}

func (r Ready) limit() quantity.Duration {
	return cmp.Or(r.Within, quantity.Duration(30*time.Second))
}

// portName is the placeholder for the port in arguments.
const portName = "$(TARE_PORT)"

// Validate returns all errors in the parameters. An error names its field: with field = "server", for example
// "server.port".
func (c *Config) Validate(field string) []experiment.FieldError {
	errs := experiment.FieldErrors(c.Run.ValidateCommand(field + ".run"))
	errs = append(errs, c.Env.Validate(field+".env")...)
	if c.Port < 0 || c.Port > 65535 {
		errs.Add(field+".port", "%d is not a port from 1 to 65535", c.Port)
	}
	if c.Ready.Path != "" && !strings.HasPrefix(c.Ready.Path, "/") {
		errs.Add(field+".ready.path", "%q does not begin with /", c.Ready.Path)
	}
	if _, err := regexp.Compile(c.Ready.Log); err != nil {
		errs.Add(field+".ready.log", "%q is not a regular expression: %v", c.Ready.Log, err)
	}
	return errs
}

// Shared returns a name for the server, for workload.Resident. Two servers get the same name if all their parameters
// are equal.
func (c *Config) Shared() string {
	text, _ := json.Marshal(c)
	return "server " + string(text)
}

// Server is a server that runs and is ready.
type Server struct {
	*Running
	Address ByPath // server's addresses, as the client's pod reaches it
	Scratch string // directory for the server's files, removed with the site; "": none
}

// SetUp starts the server in the server's pod, and waits until the server is ready.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (*Server, error) {
	at, err := Addresses(s, c.Port)
	if err != nil {
		return nil, err
	}
	port := fmt.Sprint(at[testbed.PodToPod].Port())
	args, err := c.Run.Resolve(ctx, nil)
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, portName, port)
	}
	values, err := c.Env.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	env, scratch := append(environ.Assignments(values), "TARE_PORT="+port), ""
	if site, ok := testbed.As[testbed.Scratch](s.Site); ok {
		if scratch, err = site.Scratch(); err != nil {
			return nil, err
		}
		env = append(env, "TARE_SCRATCH="+scratch)
	}
	up, err := Up(ctx, s, at, c.Ready, testbed.Command{Args: args, Dir: c.Dir, Env: env, Subject: true})
	if err != nil {
		return nil, err
	}
	up.Scratch = scratch
	return up, nil
}

// Up starts a server by a command in the server's pod, and waits until the server is ready.
func Up(ctx context.Context, s workload.SetUp, at ByPath, ready Ready, command testbed.Command) (*Server, error) {
	r, err := Start(ctx, s.Site, Program{Name: "server", Where: testbed.ServerPod, Command: command})
	if err != nil {
		return nil, err
	}
	if err := r.await(ctx, s.Site, at[testbed.PodToPod], ready); err != nil {
		_ = r.Down(context.WithoutCancel(ctx))
		return nil, err
	}
	return &Server{Running: r, Address: at}, nil
}

// ByPath holds the addresses of a server, by the network path from the client's pod.
type ByPath map[testbed.Path]netip.AddrPort

// On returns the server's address on a path, or an error if no address serves this path.
func (a ByPath) On(path testbed.Path) (netip.AddrPort, error) {
	at, ok := a[path]
	if !ok {
		return at, fmt.Errorf("the server cannot be reached from %s: the service does not forward its port %d", path, a[testbed.PodToPod].Port())
	}
	return at, nil
}

// Addresses returns the addresses of a server at a site. Port 0: a port of its own that the site's service forwards. A
// port that it does not forward is reachable at the server's pod only.
func Addresses(s workload.SetUp, port int) (ByPath, error) {
	network, ok := testbed.As[testbed.Network](s.Site)
	if !ok {
		return nil, fmt.Errorf("the site has no network for a server")
	}
	ports := network.Ports()
	if port == 0 {
		// The first port stays free for tools such as iperf3, which start a server in each trial.
		if s.Number >= len(ports)-1 {
			return nil, fmt.Errorf("more servers at a site than the %d ports that its service forwards", len(ports))
		}
		port = int(ports[len(ports)-1-s.Number])
	}
	at := ByPath{testbed.PodToPod: netip.AddrPortFrom(network.Address(testbed.PodToPod), uint16(port))}
	if slices.Contains(ports, uint16(port)) {
		if address := network.Address(testbed.PodToService); address.IsValid() {
			at[testbed.PodToService] = netip.AddrPortFrom(address, uint16(port))
		}
	}
	return at, nil
}

// Variables returns a client's environment variables: the server's address (TARE_PEER, TARE_SERVICE, TARE_PORT) and its
// directory (TARE_SCRATCH).
func (s *Server) Variables() []string {
	at := s.Address[testbed.PodToPod]
	list := []string{"TARE_PEER=" + at.Addr().String(), "TARE_PORT=" + strconv.Itoa(int(at.Port()))}
	if at, ok := s.Address[testbed.PodToService]; ok {
		list = append(list, "TARE_SERVICE="+at.Addr().String())
	}
	if s.Scratch != "" {
		list = append(list, "TARE_SCRATCH="+s.Scratch)
	}
	return list
}

// Helper is a helper in the client's pod that waits until the server answers.
var Helper = testbed.Helper{Name: "service-ready", Run: helperrpc.Reading("the server's address", repeatCheck)}

// readyCheck is the input of the helper: the server's address and, if given, a page to ask for.
type readyCheck struct {
	Address netip.AddrPort `json:"address"`
	Path    string         `json:"path,omitempty"` // page that must answer; "": the server must accept a connection
}

// await waits until the server is ready: until its output matches ready.Log, if set. If ready.Path or no condition is
// set, the client's pod must reach the server.
func (r *Running) await(ctx context.Context, site testbed.Site, address netip.AddrPort, ready Ready) error {
	limited, cancel := context.WithTimeoutCause(ctx, ready.limit().Std(), errSlow)
	defer cancel()
	var err error
	if ready.Log != "" {
		err = r.awaitLog(limited, ready.Log)
	}
	if err == nil && (ready.Log == "" || ready.Path != "") {
		err = r.awaitReached(limited, site, readyCheck{address, ready.Path})
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case r.Check(ctx) != nil:
		return fmt.Errorf("before it was ready: %w", r.Check(ctx))
	case errors.Is(context.Cause(limited), errSlow):
		err = fmt.Errorf("the %s is not ready after %v: %w", r.Name, ready.limit(), err)
		if last := r.printed.last(); last != "" {
			err = fmt.Errorf("%w; its last output: %s", err, last)
		}
	}
	return err
}

var errSlow = errors.New("it took too long")

func (r *Running) awaitLog(ctx context.Context, pattern string) error {
	match, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return fmt.Errorf("ready.log: %w", err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := r.read(); err != nil {
			return err
		}
		if r.printed.matches(match.Match) {
			return nil
		}
		select {
		case <-r.done:
			return r.Check(ctx)
		case <-ctx.Done():
			return fmt.Errorf("its output does not match %s", pattern)
		case <-tick.C:
		}
	}
}

func (r *Running) awaitReached(ctx context.Context, site testbed.Site, c readyCheck) error {
	cmd, err := helperrpc.Command(site, testbed.ClientPod, Helper.Name, c)
	if err != nil {
		return err
	}
	ctx, stop := testbed.Until(ctx, r.done) // stop waiting if the server ends
	defer stop()
	why, _, err := helperrpc.Output(ctx, site, testbed.ClientPod, cmd)
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(why)), "\n")
	if last := lines[len(lines)-1]; last != "" && ctx.Err() != nil {
		return fmt.Errorf("%s: %s", c.Address, last)
	}
	return err
}

// repeatCheck is the helper's main function. It tries to reach the server until it succeeds, and prints each
// new error.
func repeatCheck(ctx context.Context, c readyCheck) error {
	last := ""
	for {
		err := c.try(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if now := err.Error(); now != last {
			fmt.Println(now)
			last = now
		}
		if err := testbed.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c readyCheck) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if c.Path == "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Address.String())
		if err != nil {
			return err
		}
		return conn.Close()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Address.String()+c.Path, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("status %s", answer.Status)
	}
	return nil
}
