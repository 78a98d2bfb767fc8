package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/service"
)

// membership is the input of one member's process.
type membership struct {
	Program string `json:"program"` // path, or a name in the pod's PATH
	Config  string `json:"config"`  // HCL with the placeholders certPath and keyPath
	Cert    string `json:"cert,omitempty"`
	Key     string `json:"key,omitempty"`
	Dir     string `json:"dir"` // directory of the member's data
}

// Placeholders for the paths of files with the certificate and key.
const (
	certPath = "$(CERT)"
	keyPath  = "$(KEY)"
)

// memberHelper replaces itself by a member's program. The member's files are in memory, so that no key is ever
// written to a disk.
var memberHelper = testbed.Helper{Name: "vault-member", Run: helperrpc.Reading("the member's configuration", runMember)}

// configuration returns a member's configuration. Tare makes audit devices through the API. OpenBao allows this only
// with unsafe_allow_api_audit_creation; Vault warns of this setting. Vault locks its memory, which needs privileges,
// unless disable_mlock is set. OpenBao never locks its memory.
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
			up.auditFile = filepath.Join(dir, "audit.log") // on a cluster the path is the same for all members
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

// clusterPort is the first port of the members' own traffic.
const clusterPort = 8201

// runMember writes the configuration into files in memory and becomes the program.
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
	drop := func(v string) bool { // drops variables that make the program a helper or configure a client
		return strings.HasPrefix(v, testbed.HelperVariable+"=") || strings.HasPrefix(v, "VAULT_") || strings.HasPrefix(v, "BAO_")
	}
	return execProgram(path, []string{filepath.Base(path), "server", "-config=" + at}, slices.DeleteFunc(os.Environ(), drop))
}
