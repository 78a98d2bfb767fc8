// Package fleet is the process of the workload xds in a client's pod: it holds thousands of
// simulated sidecars (package sidecar), has them come, leave and wait for a push as it is told, and
// notes when what happens. Orders are those of package orders; what takes long is begun by one
// order, and asked after by others (Look).
package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload/xds/sidecar"
)

// Helper is the process.
var Helper = testbed.Helper{Name: "xds-fleet", Run: func(ctx context.Context) error { return orders.Main(ctx, New(ctx).Obey) }}

// Order is what a fleet is told: at most one member is set. Without any it tells the time.
type Order struct {
	Open *Open  `json:"open,omitempty"`
	Up   *Ramp  `json:"up,omitempty"`
	Down *Ramp  `json:"down,omitempty"`
	Push *Push  `json:"push,omitempty"`
	Look *Look  `json:"look,omitempty"`
	Heap string `json:"heap,omitempty"` // asks the server for it, at this address
}

// Open says what sidecars there are, and where they connect to. It is the first order.
type Open struct {
	Server    string           `json:"server"` // HOST:PORT
	Protocol  sidecar.Protocol `json:"protocol"`
	TLS       *TLS             `json:"tls,omitempty"`
	Token     string           `json:"token,omitempty"`
	Node      sidecar.Node     `json:"node"`
	Sidecars  int              `json:"sidecars"`
	First     int              `json:"first"`     // number of the first sidecar among all fleets'
	Fleets    int              `json:"fleets"`    // which have every so manyth number
	LeastWait time.Duration    `json:"leastWait"` // bound of the first pause before a new try, which is random; 0: Envoy's
}

// TLS is how sidecars encrypt, in PEM.
type TLS struct {
	CA         string `json:"ca,omitempty"`
	Cert       string `json:"cert,omitempty"`
	Key        string `json:"key,omitempty"`
	ServerName string `json:"serverName,omitempty"`
}

// Ramp has the first Count sidecars come or leave, one after the other.
type Ramp struct {
	Count int     `json:"count"`
	Rate  float64 `json:"rate"`  // 1/s
	Phase float64 `json:"phase"` // of a gap, after which the first is due
}

// Push has all sidecars that are ready wait for a response.
type Push struct {
	Since time.Time      `json:"since"` // by the clock of the process: nothing before counts
	Types []sidecar.Type `json:"types"` // of the response; none: any
}

// Look asks how far the fleet has come.
type Look struct {
	For   time.Duration `json:"for"`             // waits so long for the end, at most
	Final bool          `json:"final,omitempty"` // the report is wanted also before the end
}

// Answer answers each order.
type Answer struct {
	Now    time.Time `json:"now"`
	Done   bool      `json:"done,omitempty"`   // with what was begun last
	Report *Report   `json:"report,omitempty"` // of it, to a Look
	Heap   int64     `json:"heap,omitempty"`   // that the server has in use, B
}

// Report is what became of an Up, a Down or a Push.
type Report struct {
	Expected int             `json:"expected"` // sidecars
	Times    []time.Duration `json:"times"`    // of those that came so far: from when they were due, or the push was
	Lags     []time.Duration `json:"lags,omitempty"`
	Last     time.Duration   `json:"last"` // from the beginning until the last of them
	Counts
}

// Counts is what happened meanwhile.
type Counts struct {
	Attempts  int               `json:"attempts"` // to connect
	Responses int               `json:"responses"`
	Rejected  int               `json:"rejected"`         // responses
	Lost      int               `json:"lost"`             // streams that ended although their sidecar was ready, of all stages so far
	Bytes     int64             `json:"bytes"`            // of responses
	Ready     map[string]int    `json:"ready,omitempty"`  // sidecars that became ready, by connection (sidecar.Update)
	Errors    map[string]int    `json:"errors,omitempty"` // by kind, of sidecar.Error
	Examples  map[string]string `json:"examples,omitempty"`
}

// Fleet is the sidecars of a process.
type Fleet struct {
	ctx     context.Context
	open    Open
	client  *sidecar.Client
	members []*member

	mu     sync.Mutex
	now    *stage
	counts Counts
}

// New makes an empty fleet. Its sidecars leave with the context.
func New(ctx context.Context) *Fleet { return &Fleet{ctx: ctx, now: newStage(nil)} }

// Obey carries out an order.
func (f *Fleet) Obey(ctx context.Context, o Order) (*Answer, error) {
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
		return &Answer{Now: time.Now(), Heap: bytes}, err
	case o.Look != nil:
		return f.look(ctx, *o.Look), ctx.Err()
	}
	return &Answer{Now: time.Now()}, err
}

// assemble makes the sidecars, of which none comes yet.
func (f *Fleet) assemble(ctx context.Context, o Open) error {
	if f.client != nil {
		return errors.New("the fleet is there already")
	}
	host, port, err := net.SplitHostPort(o.Server)
	if err != nil {
		return err
	}
	// All go to one address, that of the first answer: what is measured is no DNS server.
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
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if t.ServerName != "" {
		c.ServerName = t.ServerName
	}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("ca holds no certificate in PEM")
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

// IndexVariable and AddressVariable stand in texts of a node for the sidecar's number, from 1, and
// for an address that no other one has.
const (
	IndexVariable   = "TARE_INDEX"
	AddressVariable = "TARE_IP"
)

// node is the node of a member, as a message.
func (f *Fleet) node(index int) ([]byte, error) {
	number := f.open.First + index*max(f.open.Fleets, 1)
	return f.open.Node.Encode(strings.NewReplacer("$("+IndexVariable+")", strconv.Itoa(number+1), "$("+AddressVariable+")", address(number)))
}

// address is that of a sidecar: 10.1.0.1 and on, without those that end in 0 or 255.
func address(number int) string {
	const last, block = 250, 250 * 250
	return fmt.Sprintf("10.%d.%d.%d", 1+number/block, number/last%last, 1+number%last)
}
