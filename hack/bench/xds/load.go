package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/sidecar"
	"tare/internal/workload/xds/xdstest"
)

// serve is the server. It says where it is, and pushes other endpoints with each line.
func serve(t task, in *json.Decoder, out *json.Encoder) error {
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	o := xdstest.Options{}
	if t.Cert != nil {
		if o.TLS, err = xdstest.Serving(t.Cert, t.Key, false); err != nil {
			return err
		}
	}
	s, err := xdstest.Start(on, t.Mesh, o)
	if err != nil {
		return err
	}
	if err := out.Encode(s.Address); err != nil {
		return err
	}
	for {
		var line string
		if err := in.Decode(&line); err != nil {
			return err
		}
		if err := s.Change(t.Mesh); err != nil {
			return err
		}
	}
}

// sidecars are what is measured.
type sidecars interface {
	// up has all of them come, and waits until they are ready. It gives the time that took, from when the
	// first was due, and how many tries failed.
	up() (time.Duration, int, error)
	// push begins to wait for a push, and gives the function that waits until all have it.
	push() (func() error, error)
}

// load is the process of the sidecars.
func load(t task, kind func(task) (sidecars, error), in *json.Decoder, out *json.Encoder) error {
	s, err := kind(t)
	if err != nil {
		return err
	}
	before, err := look(true)
	if err != nil {
		return err
	}
	var f figures
	if f.Ready, f.Failed, err = s.up(); err != nil {
		return err
	}
	now, err := look(false)
	if err != nil {
		return err
	}
	f.CPU, f.Resident, f.Goroutines = now.cpu-before.cpu, now.resident-before.resident, runtime.NumGoroutine()
	if now, err = look(true); err != nil {
		return err
	}
	f.Collected = now.resident - before.resident
	reached, err := s.push()
	if err != nil {
		return err
	}
	if err := out.Encode(f); err != nil {
		return err
	}
	var line string
	if err := in.Decode(&line); err != nil {
		return err
	}
	if err := reached(); err != nil {
		return err
	}
	return out.Encode(time.Now())
}

// used is what this process has used so far.
type used struct {
	cpu      time.Duration
	resident int64
}

// look looks, after a garbage collection if that is asked for.
func look(collect bool) (used, error) {
	if collect {
		runtime.GC()
		debug.FreeOSMemory()
	}
	self, err := procfs.NewProc(os.Getpid())
	if err != nil {
		return used{}, err
	}
	stat, err := self.Stat()
	return used{time.Duration(stat.CPUTime() * float64(time.Second)), int64(stat.ResidentMemory())}, err
}

// loadAverage is how busy the machine is.
func loadAverage() string {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return "not known"
	}
	load, err := fs.LoadAvg()
	if err != nil {
		return "not known"
	}
	return fmt.Sprintf("%.2f", load.Load1)
}

// fleetOf are Tare's sidecars.
type fleetOf struct {
	*fleet.Fleet
	task task
}

const limit = 5 * time.Minute

func ours(t task) (sidecars, error) {
	f := &fleetOf{fleet.New(context.Background()), t}
	open := fleet.Open{Server: t.Server, Protocol: t.Protocol, Sidecars: t.Sidecars, Node: node()}
	if t.Cert != nil {
		open.TLS = &fleet.TLS{CA: string(t.Cert)}
	}
	_, err := f.Handle(context.Background(), fleet.Request{Open: &open})
	return f, err
}

// node is as much as istiod is told of one.
func node() sidecar.Node {
	return sidecar.Node{ID: "sidecar~$(TARE_IP)~echo-$(TARE_INDEX).mesh~mesh.svc.cluster.local", Cluster: "echo.mesh", Metadata: json.RawMessage(`{
		"NAMESPACE": "mesh", "CLUSTER_ID": "Kubernetes", "ISTIO_VERSION": "1.29.1", "SERVICE_ACCOUNT": "default", "LABELS": {"app": "echo"}}`)}
}

func (f *fleetOf) up() (time.Duration, int, error) {
	if _, err := f.Handle(context.Background(), fleet.Request{Up: &fleet.Ramp{Count: f.task.Sidecars, Rate: f.task.Rate}}); err != nil {
		return 0, 0, err
	}
	r, err := f.done()
	if err != nil {
		return 0, 0, err
	}
	return r.Last, r.Attempts - len(r.Times), nil
}

func (f *fleetOf) done() (*fleet.Report, error) {
	a, err := f.Handle(context.Background(), fleet.Request{Look: &fleet.Look{For: limit, Final: true}})
	if err != nil {
		return nil, err
	}
	if !a.Done {
		return nil, fmt.Errorf("%d of %d: %v %v", len(a.Report.Times), a.Report.Expected, a.Report.Errors, a.Report.Examples)
	}
	return a.Report, nil
}

func (f *fleetOf) push() (func() error, error) {
	_, err := f.Handle(context.Background(), fleet.Request{Push: &fleet.Push{Since: time.Now(), Types: []sidecar.Type{sidecar.EDS}}})
	return func() error { _, err := f.done(); return err }, err
}
