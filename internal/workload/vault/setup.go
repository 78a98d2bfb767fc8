package vault

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/layer/vaultserver"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/service"
)

type servers struct {
	site      testbed.Site
	apis      []netip.AddrPort // addresses of the members that Tare started
	urls      []string
	tls       bool
	authority string // certificates that clients trust, in PEM
	auditFile string // path of the audit file; "" without an audit device
	audited   int64  // bytes that the audit file grew by during the last trial's load
	members   []*service.Running
	prepared  prepared
	down      bool
	failure   error // error that demands a new set-up of the servers; nil: none
}

var _ vaultserver.Servers = (*servers)(nil)

// Shared returns a name for a cell's servers. Cells with the same name share servers. Parameters of the load are not
// part of the name.
func (c *Config) Shared() string {
	like := *c
	like.Operations, like.Workers, like.Rate, like.Arrivals, like.Conns = operations{}, nil, nil, "", 0
	like.Clients, like.Threads, like.Duration, like.Warmup, like.Timeout, like.Judged = nil, 0, nil, 0, 0, nil
	like.Profile, like.Protocol, like.Objective, like.Quantiles = "", nil, nil, nil
	text, _ := json.Marshal(like)
	return name + " " + string(text)
}

// SetUp starts the members and makes the data that the load needs.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp) (workload.Server, error) {
	up, err := c.setUp(ctx, s)
	if err != nil {
		if ended := up.memberEnded(ctx); ended != nil && ctx.Err() == nil {
			err = ended // the member's end has caused err, and says more
		}
		return nil, errors.Join(fmt.Errorf("the servers: %w", err), up.Down(context.WithoutCancel(ctx)))
	}
	return up, nil
}

func (c *Config) setUp(ctx context.Context, s workload.SetUp) (*servers, error) {
	tls := c.TLS.One()
	others := testbed.Held[vaultserver.Settings](s.Site)
	settings := vaultserver.Settings{TLS: &tls, Audit: c.Audit.One(), Members: c.Members.One()}.Over(others...)
	up := &servers{site: s.Site, tls: *settings.TLS, authority: c.trusted}
	p := &setUpRequest{
		Limit: c.Within.Std(), Mount: "tare-" + strings.ToLower(rand.Text()),
		Encryption: c.Encryption.One(), Signing: c.Signing.One(), Bodies: c.bodies(), Secrets: c.Secrets, Secret: int(c.Payload.One()),
	}
	token := ""
	if c.URL != "" {
		if len(others) > 0 {
			return up, errors.New("the layer vault-server only configures servers that Tare starts, and not the server at the url")
		}
		var err error
		if token, err = c.Token.Resolve(ctx); err != nil {
			return up, err
		}
		up.urls = []string{c.URL}
		up.prepared = prepared{Mount: p.Mount, Token: token} // Down reads this to know what to remove, even if setting up fails
	} else if err := up.startAll(ctx, s, c, settings); err != nil {
		return up, err
	} else if settings.Audit != vaultserver.FileAudit {
		up.auditFile = ""
	}
	p.Initialise, p.AuditFile = c.URL == "", up.auditFile
	for _, m := range up.members { // stop waiting if a member ends
		var stop context.CancelFunc
		ctx, stop = testbed.Until(ctx, m.Ended())
		defer stop()
	}
	err := up.ask(ctx, testbed.ClientPod, p.Limit+callLimit, request{Token: token, Prepare: p}, &up.prepared)
	if err != nil {
		return up, err
	}
	_, err = up.State(ctx)
	return up, err
}

// startAll chooses the members' addresses and certificate, and starts the members.
func (up *servers) startAll(ctx context.Context, s workload.SetUp, c *Config, settings vaultserver.Settings) error {
	at, err := service.Addresses(s, 0)
	if err != nil {
		return err
	}
	network, ok := testbed.As[testbed.Members](s.Site)
	if !ok || len(network.Members()) < settings.Members {
		return fmt.Errorf("the site has no pods for %d members", settings.Members)
	}
	scheme := "http"
	if up.tls {
		scheme = "https"
	}
	for _, address := range network.Members()[:settings.Members] {
		api := netip.AddrPortFrom(address, at[testbed.PodToPod].Port())
		up.apis = append(up.apis, api)
		up.urls = append(up.urls, scheme+"://"+api.String())
	}
	var cert, key string
	if up.tls {
		if up.authority, cert, key, err = service.Signed("vault", up.apis); err != nil {
			return err
		}
	}
	return up.start(ctx, s, c, cert, key)
}

// ask runs a helper at a place, which carries out a request at the servers. The response goes to out, unless out is
// nil.
func (up *servers) ask(ctx context.Context, where testbed.Place, limit time.Duration, r request, out any) error {
	r.URLs, r.CA, r.Foreign = up.urls, up.authority, len(up.apis) == 0
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := helperrpc.Once(ctx, up.site, where, requestHelper.Name, r, out)
	_, lost := errors.AsType[*testbed.Disturbance](err)
	if exit, ok := errors.AsType[*testbed.ExitError](err); ok && exit.Stderr != "" && !lost {
		return errors.New(exit.Stderr)
	}
	return err
}

// State returns the state of the servers, as seen from the client's pod.
func (up *servers) State(ctx context.Context) (*vaultserver.State, error) {
	s := new(vaultserver.State)
	if err := up.ask(ctx, testbed.ClientPod, 2*callLimit, request{Token: up.prepared.Token, Look: true}, s); err != nil {
		return nil, fmt.Errorf("the servers: %w", err)
	}
	return s, nil
}

// Audited returns by how many bytes the leader's audit file grew during the last trial's load.
func (up *servers) Audited() int64 { return up.audited }

// place returns the pod of the member with this URL. For an unknown URL it returns the server's pod.
func (up *servers) place(url string) testbed.Place {
	return testbed.Member(1 + slices.Index(up.urls, url))
}

// Check returns an error if a member has ended, or if the servers did not answer in the last trial.
func (up *servers) Check(ctx context.Context) error {
	return cmp.Or(up.memberEnded(ctx), up.failure)
}

// CPU implements workload.Running. It returns the CPU time that the members have used so far.
func (up *servers) CPU() (sum time.Duration, err error) {
	for _, m := range up.members {
		cpu, e := m.CPU()
		sum, err = sum+cpu, errors.Join(err, e)
	}
	return sum, err
}

func (up *servers) memberEnded(ctx context.Context) error {
	for _, m := range up.members {
		if err := m.Check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Down ends the members. At an existing server it removes the data that Tare made there.
func (up *servers) Down(ctx context.Context) error {
	if up.down {
		return nil
	}
	var errs []error
	if len(up.apis) == 0 && up.prepared.Token != "" {
		errs = append(errs, up.ask(ctx, testbed.ClientPod, callLimit, request{Token: up.prepared.Token, Clear: up.prepared.Mount}, nil))
	}
	errs = append(errs, lists.Map(up.members, func(m *service.Running) error { return m.Down(ctx) })...)
	err := errors.Join(errs...)
	up.down = err == nil
	return err
}

type membership struct {
	Program string `json:"program"` // path, or a name in the pod's PATH
	Config  string `json:"config"`  // HCL with the placeholders certPath and keyPath
	Cert    string `json:"cert,omitempty"`
	Key     string `json:"key,omitempty"`
	Dir     string `json:"dir"` // directory of the member's data
}

// The member's configuration contains certPath and keyPath in place of the paths of its certificate and key.
const (
	certPath = "$(CERT)"
	keyPath  = "$(KEY)"
)

// memberHelper replaces itself by a member's program. The member's certificate and key are files in memory, so that
// no key is ever written to a disk.
var memberHelper = testbed.Helper{Name: "vault-member", Run: helperrpc.Reading("the member's configuration", runMember)}

// configuration returns a member's configuration. OpenBao allows audit devices through the API only with
// unsafe_allow_api_audit_creation. Without disable_mlock, Vault would need privileges to lock its memory.
func configuration(program, id, dir string, api, cluster netip.AddrPort, tls bool, pace int) string {
	scheme, listener := "http", "  tls_disable = true\n"
	if tls {
		scheme, listener = "https", fmt.Sprintf("  tls_cert_file = %q\n  tls_key_file = %q\n", certPath, keyPath)
	}
	lock := ""
	if strings.HasPrefix(filepath.Base(program), "vault") {
		lock = "disable_mlock = true\n"
	}
	return lock + fmt.Sprintf(`ui = false
log_level = "info"
unsafe_allow_api_audit_creation = true
api_addr = "%s://%s"
cluster_addr = "https://%s"
listener "tcp" {
  address = %q
  cluster_address = %q
%s}
storage "raft" {
  path = %q
  node_id = %q
  performance_multiplier = %d
  autopilot_reconcile_interval = "1s"
  autopilot_update_interval = "500ms"
}
`, scheme, api, cluster, api, cluster, listener, dir, id, pace)
}

func (up *servers) start(ctx context.Context, s workload.SetUp, c *Config, cert, key string) error {
	volumes, ok := testbed.As[testbed.MemberVolumes](s.Site)
	if !ok {
		return fmt.Errorf("the site has no volumes for members")
	}
	for i, api := range up.apis {
		place := testbed.Member(i + 1)
		volume := volumes.MemberVolume(i + 1)
		if volume == "" {
			return fmt.Errorf("member %d has no volume", i+1)
		}
		dir := filepath.Join(volume, fmt.Sprintf("vault-%d", s.Number))
		if up.auditFile == "" {
			up.auditFile = filepath.Join(dir, "audit.log") // path on the first member; on a cluster, the path is the same on all members
		}
		m := membership{Program: c.Program, Dir: dir, Cert: cert, Key: key}
		if remote, ok := testbed.As[testbed.Remote](s.Site); !ok || remote.Self(place) == "" {
			path, err := findProgram(c.Program)
			if err != nil {
				return err
			}
			m.Program = path
		}
		m.Config = configuration(c.Program, fmt.Sprintf("member-%d", i+1), dir, api, netip.AddrPortFrom(api.Addr(), clusterPort+uint16(s.Number)), up.tls, c.Pace)
		cmd, err := helperrpc.Command(s.Site, place, memberHelper.Name, m)
		if err != nil {
			return err
		}
		cmd.Subject = true
		member, err := service.Start(ctx, s.Site, service.Program{Name: fmt.Sprintf("member-%d", i+1), Where: place, Command: cmd})
		if err != nil {
			return err
		}
		up.members = append(up.members, member)
	}
	return nil
}

// clusterPort is the port for traffic among the members. The next servers of a site use the ports after it.
const clusterPort = 8201

func runMember(_ context.Context, m membership) error {
	path, err := exec.LookPath(m.Program)
	if err != nil {
		return fmt.Errorf("the program of the servers: %w", err)
	}
	if err := os.MkdirAll(m.Dir, 0o700); errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the member may not write to its volume: %w (%s)", err, workload.VolumeOwner)
	} else if err != nil {
		return err
	}
	config := m.Config
	for _, f := range []struct{ placeholder, text string }{{certPath, m.Cert}, {keyPath, m.Key}} {
		if f.text == "" {
			continue
		}
		at, err := inMemory(f.text)
		if err != nil {
			return err
		}
		config = strings.ReplaceAll(config, f.placeholder, at)
	}
	at, err := inMemory(config)
	if err != nil {
		return err
	}
	drop := func(v string) bool { // drops variables that would turn the program into a helper of Tare, or configure a client
		return strings.HasPrefix(v, testbed.HelperVariable+"=") || strings.HasPrefix(v, "VAULT_") || strings.HasPrefix(v, "BAO_")
	}
	return execProgram(path, []string{filepath.Base(path), "server", "-config=" + at}, slices.DeleteFunc(os.Environ(), drop))
}
