// Package fleet is the process that the workload xds runs in a client's pod. It holds thousands of simulated sidecars
// (package sidecar), and records the time of each event. Requests go through package helperrpc: connect, disconnect, or
// wait for a push. A request for a long task only begins it, as a stage. The request Look asks later how far the stage
// is.
package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/toolformat/promtext"
	"tare/internal/workload/xds/sidecar"
)

// Helper runs a Fleet in a process of its own.
var Helper = testbed.Helper{Name: "xds-fleet", Run: func(ctx context.Context) error { return helperrpc.Main(ctx, New(ctx).Handle) }}

// Request is a request to a fleet. It sets at most one field, which says what the fleet must do. If no field is set,
// the response holds only the time.
type Request struct {
	Open *Open  `json:"open,omitempty"`
	Up   *Ramp  `json:"up,omitempty"`
	Down *Ramp  `json:"down,omitempty"`
	Push *Push  `json:"push,omitempty"`
	Look *Look  `json:"look,omitempty"`
	Heap string `json:"heap,omitempty"` // asks for the size of the server's heap; holds the address of the server's metrics
}

// Open describes the sidecars and the server that the sidecars connect to. Open is a client's first request.
type Open struct {
	Server    string           `json:"server"` // HOST:PORT
	Protocol  sidecar.Protocol `json:"protocol"`
	TLS       *TLS             `json:"tls,omitempty"`
	Token     string           `json:"token,omitempty"`
	Node      sidecar.Node     `json:"node"`
	Sidecars  int              `json:"sidecars"`
	First     int              `json:"first"`     // number of this fleet's first sidecar; the sidecars of all fleets are numbered together
	Fleets    int              `json:"fleets"`    // number of fleets; with First = 1 and Fleets = 3, this fleet has the sidecars 1, 4, 7 …
	LeastWait time.Duration    `json:"leastWait"` // longest random pause before a sidecar's first try to reconnect; 0: Envoy's longest pause
}

// TLS is the sidecars' encryption; certificates and key are PEM texts.
type TLS struct {
	CA         string `json:"ca,omitempty"`
	Cert       string `json:"cert,omitempty"`
	Key        string `json:"key,omitempty"`
	ServerName string `json:"serverName,omitempty"`
}

// Ramp connects or disconnects the first Count sidecars of the fleet, one after another at the Rate.
type Ramp struct {
	Count int     `json:"count"`
	Rate  float64 `json:"rate"`  // sidecars per second
	Phase float64 `json:"phase"` // time until the first sidecar is due, as a share of the gap between two sidecars
}

// Push makes all ready sidecars wait for the response that the server sends after a change.
type Push struct {
	Since time.Time      `json:"since"` // time of the change by the fleet machine's clock; a response before it does not count
	Types []sidecar.Type `json:"types"` // types of resources whose response counts as the push; none: any type
}

// Look asks the fleet how far its current task, the stage, is.
type Look struct {
	For   time.Duration `json:"for"`             // how long to wait at most for the end of the stage
	Final bool          `json:"final,omitempty"` // true: the response must hold a Report, even if the stage has not ended
}

// Response is what a fleet's helper returns for every Request.
type Response struct {
	Now    time.Time `json:"now"`
	Done   bool      `json:"done,omitempty"`   // the current stage has ended
	Report *Report   `json:"report,omitempty"` // report on the current stage; only in the response to a Look
	Heap   int64     `json:"heap,omitempty"`   // bytes in use on the server's heap
}

// Report is the present result of a stage. A stage is an Up, a Down or a Push.
type Report struct {
	Expected int             `json:"expected"`       // number of sidecars that the stage waits for
	Times    []time.Duration `json:"times"`          // for each sidecar that has finished the stage: time since the sidecar was due, or since the change
	Lags     []time.Duration `json:"lags,omitempty"` // time from each sidecar's due time until it began to connect or disconnect
	Last     time.Duration   `json:"last"`           // from the beginning of the stage until the last sidecar finished it
	Counts
}

// Counts holds counts of events in a stage.
type Counts struct {
	Attempts  int               `json:"attempts"` // attempts to connect
	Responses int               `json:"responses"`
	Rejected  int               `json:"rejected"`         // number of responses that sidecars rejected
	Lost      int               `json:"lost"`             // number of streams of ready sidecars that ended, in all stages so far
	Bytes     int64             `json:"bytes"`            // bytes of all responses
	Ready     map[string]int    `json:"ready,omitempty"`  // number of sidecars that became ready, by kind of connection (sidecar.Update)
	Errors    map[string]int    `json:"errors,omitempty"` // number of errors, by the kind of sidecar.Error
	Examples  map[string]string `json:"examples,omitempty"`
}

// Fleet holds the sidecars of a process.
type Fleet struct {
	ctx     context.Context
	open    Open
	client  *sidecar.Client
	members []*member

	mu     sync.Mutex
	now    *stage
	counts Counts
}

// New makes a fleet without sidecars. When the context ends, all sidecars that join it disconnect.
func New(ctx context.Context) *Fleet { return &Fleet{ctx: ctx, now: newStage(nil)} }

// Handle carries out a request.
func (f *Fleet) Handle(ctx context.Context, o Request) (*Response, error) {
	var err error
	switch {
	case o.Open != nil:
		err = f.assemble(ctx, *o.Open)
	case o.Up != nil:
		err = f.begin(o.Up, true)
	case o.Down != nil:
		err = f.begin(o.Down, false)
	case o.Push != nil:
		f.await(o.Push)
	case o.Heap != "":
		bytes, err := heap(ctx, o.Heap)
		return &Response{Now: time.Now(), Heap: bytes}, err
	case o.Look != nil:
		return f.look(ctx, *o.Look), ctx.Err()
	}
	return &Response{Now: time.Now()}, err
}

// assemble makes the sidecars, without connecting them.
func (f *Fleet) assemble(ctx context.Context, o Open) error {
	if f.client != nil {
		return errors.New("the fleet already has sidecars")
	}
	host, port, err := net.SplitHostPort(o.Server)
	if err != nil {
		return err
	}
	// All sidecars use one address, the first that the name resolves to, so that the trial measures no DNS server.
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return fmt.Errorf("the address of the server: %w", err)
	}
	server := sidecar.Server{Address: net.JoinHostPort(found[0], port), Authority: o.Server, Protocol: o.Protocol, Token: o.Token}
	if o.TLS != nil {
		if server.TLS, err = o.TLS.config(host); err != nil {
			return err
		}
	}
	if _, err := o.Node.Encode(strings.NewReplacer()); err != nil {
		return err
	}
	f.open, f.client = o, sidecar.New(server)
	for i := range o.Sidecars {
		f.members = append(f.members, &member{fleet: f, index: i})
	}
	return nil
}

func (t *TLS) config(host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: cmp.Or(t.ServerName, host), MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("ca contains no certificate in PEM")
		}
	}
	if t.Cert != "" {
		own, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
		if err != nil {
			return nil, fmt.Errorf("the sidecars' certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// A node's texts may contain $(TARE_INDEX), the sidecar's number from 1, and $(TARE_IP), an address that no other
// sidecar has.
const (
	IndexVariable   = "TARE_INDEX"
	AddressVariable = "TARE_IP"
)

func (f *Fleet) node(index int) ([]byte, error) {
	number := f.open.First + index*max(f.open.Fleets, 1)
	return f.open.Node.Encode(strings.NewReplacer("$("+IndexVariable+")", strconv.Itoa(number+1), "$("+AddressVariable+")", address(number)))
}

// address returns the address of the sidecar with this number: 10.1.0.1, 10.1.0.2 and so on. The last number in an
// address is from 1 to 250.
func address(number int) string {
	const last, block = 250, 250 * 250
	return fmt.Sprintf("10.%d.%d.%d", 1+number/block, number/last%last, 1+number%last)
}

// heap returns the bytes in use on a server's heap. heap reads the number from the server's metrics, under the name
// that Prometheus' collector for Go uses.
func heap(ctx context.Context, url string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy; each request has its own connection
	answer, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("the heap of the server: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return 0, fmt.Errorf("the heap of the server: %w", err)
	}
	const name = "go_memstats_heap_inuse_bytes"
	values, err := promtext.Values(text, name)
	if err != nil {
		return 0, fmt.Errorf("the heap of the server: %s answers %s: %w", url, answer.Status, err)
	}
	return int64(values[name]), nil
}
