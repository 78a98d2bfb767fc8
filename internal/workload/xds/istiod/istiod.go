// Package istiod runs Istio's control plane as the server of the workload xds, without Kubernetes.
//
//	workloads:
//	  - xds: {istiod: {services: 1000}, sidecars: 400, change: {times: 3}}
//
// istiod reads its configuration from a directory, which this package writes (config.go): services, and an endpoint for
// each sidecar. There is no API server, and istiod gives out no certificates. Whenever a file changes, istiod reads the
// whole directory again.
package istiod

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
	"tare/internal/workload/service"
)

// Config is the parameters of istiod in an experiment file.
type Config struct {
	Services factor.Levels[int] `yaml:"services" json:"services" min:"1" max:"10000" doc:"services, whose endpoints are the sidecars in turn; 1 if absent"`
	Env      environ.Variables  `yaml:"env" json:"env,omitempty" doc:"environment variables of istiod to add, such as PILOT_PUSH_THROTTLE"`
}

const program = "pilot-discovery"

// defaults are istiod's environment variables without Kubernetes. Sidecars have neither a certificate nor a token.
// istiod's limit of new connections is lifted.
var defaults = environ.Variables{
	"PILOT_MAX_REQUESTS_PER_SECOND": "100000", "POD_NAME": "istiod", "POD_NAMESPACE": "istio-system",
	"ENABLE_CA_SERVER": "false", "PILOT_CERT_PROVIDER": "none", "XDS_AUTH": "false", "PILOT_ENABLE_ANALYSIS": "false",
	"INJECTION_WEBHOOK_CONFIG_NAME": "", "VALIDATION_WEBHOOK_CONFIG_NAME": "",
}

// NodeID and NodeMetadata are the identity of a sidecar, as istiod expects it.
const (
	NodeID       = "sidecar~$(TARE_IP)~echo-$(TARE_INDEX).mesh~mesh.svc.cluster.local"
	NodeMetadata = "{NAMESPACE: mesh, CLUSTER_ID: Kubernetes, ISTIO_VERSION: 1.29.1, SERVICE_ACCOUNT: default}"
)

// Program is the program that the workload needs.
func Program() experiment.Program {
	p := experiment.Program{Name: program, Where: experiment.AtSite, Hint: "make istiod; or put pilot-discovery on PATH"}
	if path, err := testbed.Installed(program, "istiod"); err == nil {
		p.Name = path
	}
	return p
}

// Server is an istiod that runs.
type Server struct {
	*service.Server
	site     testbed.Site
	dir      string // the directory that istiod reads
	services int
	// Monitoring is the port of istiod's metrics and debugging pages.
	Monitoring int
}

// Ports of the first istiod in a pod. The ports of further ones follow.
const (
	monitoringPort = 15014
	httpPort       = 18080
	controlPort    = 9876
)

// SetUp starts istiod with an empty directory. With a certificate and its key, in PEM, istiod serves over TLS.
func (c *Config) SetUp(ctx context.Context, s workload.SetUp, cert, key string) (*Server, error) {
	scratch, ok := testbed.As[testbed.Scratch](s.Site)
	if !ok {
		return nil, fmt.Errorf("the site has no directory for istiod's files")
	}
	dir, err := scratch.Scratch()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, fmt.Sprintf("istiod-%d", s.Number))
	files := &Server{site: s.Site, dir: filepath.Join(dir, "config"), services: c.Services.One(), Monitoring: monitoringPort + s.Number}
	if err := owned.Remove(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(files.dir, 0o755); err != nil {
		return nil, err
	}
	mesh := fmt.Sprintf("{configSources: [{address: %q}], defaultConfig: {discoveryAddress: \"127.0.0.1:15012\"}}\n", "fs://"+files.dir)
	args := []string{Program().Name, "discovery", "--registries=", "--meshConfig=mesh.yaml", "--httpsAddr=", "--log_output_level=all:warn",
		fmt.Sprintf("--httpAddr=127.0.0.1:%d", httpPort+s.Number), fmt.Sprintf("--monitoringAddr=:%d", files.Monitoring), fmt.Sprintf("--ctrlz_port=%d", controlPort+s.Number)}
	texts := map[string]string{"mesh.yaml": mesh}
	if cert == "" {
		args = append(args, "--grpcAddr=:$(TARE_PORT)", "--secureGRPCAddr=")
	} else {
		texts["cert.pem"], texts["key.pem"] = cert, key
		args = append(args, "--grpcAddr=", "--secureGRPCAddr=:$(TARE_PORT)", "--tlsCertFile=cert.pem", "--tlsKeyFile=key.pem", "--caCertFile=cert.pem")
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	env := maps.Clone(defaults)
	maps.Copy(env, c.Env)
	up := service.Config{Run: args, Env: env, Dir: dir, Ready: service.Ready{Within: quantity.Duration(time.Minute)}}
	files.Server, err = up.SetUp(ctx, s)
	return files, err
}

// Configure writes the services and an endpoint for each sidecar, and waits until istiod has read them.
func (s *Server) Configure(ctx context.Context, sidecars int) error {
	ctx, stop := testbed.Until(ctx, s.Ended())
	defer stop()
	if err := s.await(ctx, "/debug/registryz", "", 0); err != nil { // istiod overlooks files that exist before it has started
		return err
	}
	if err := os.Remove(filepath.Join(s.dir, movingFile)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := s.write("services.yaml", services(s.services)); err != nil {
		return err
	}
	if err := s.write("sidecars.yaml", sidecarEndpoints(sidecars, s.services)); err != nil {
		return err
	}
	return s.await(ctx, "/debug/endpointz", `"Addresses"`, sidecars)
}

// Change moves an endpoint to an address that depends on the number.
func (s *Server) Change(number int64) error { return s.write(movingFile, moving(number)) }

// write replaces a file in one step, unless the file has this text. istiod reads no file whose name ends with .new.
func (s *Server) write(name, text string) error {
	path := filepath.Join(s.dir, name)
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Helper waits for a page of istiod. It runs in istiod's pod, since istiod answers only there.
var Helper = testbed.Helper{Name: "istiod-page", Run: helperrpc.Reading("the page", await)}

// page is a page of istiod, and the number of times that a text must occur in it; "": the page must exist.
type page struct {
	URL   string `json:"url"`
	Text  string `json:"text"`
	Times int    `json:"times"`
}

func (s *Server) await(ctx context.Context, path, text string, times int) error {
	at := page{"http://127.0.0.1:" + strconv.Itoa(s.Monitoring) + path, text, times}
	err := helperrpc.Once(ctx, s.site, testbed.ServerPod, Helper.Name, at, nil)
	if err != nil && ctx.Err() == nil {
		return workload.Invalidf(workload.RuleExit, "the configuration: %v", err)
	}
	return err
}

// limit is the longest wait for a page.
const limit = time.Minute

func await(ctx context.Context, p page) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		state, ok := p.look(ctx)
		if ok {
			return nil
		}
		if testbed.Pause(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("%s is not as it should be after %v: %s", p.URL, limit, state)
		}
	}
}

func (p page) look(ctx context.Context) (state string, ok bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err.Error(), false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error(), false
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Sprintf("status %s, %v", answer.Status, err), false
	}
	if p.Text == "" {
		return "", true
	}
	n := strings.Count(string(text), p.Text)
	return fmt.Sprintf("%s occurs %d times, not %d times", p.Text, n, p.Times), n == p.Times
}
