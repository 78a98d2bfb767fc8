package vault

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload/http"
	"tare/internal/workload/service"
)

// request is one request to the workload's helper. Exactly one of the members from Prepare on is set.
type request struct {
	URLs  []string `json:"urls,omitempty"` // URLs of the members' APIs, or of the existing server
	CA    string   `json:"ca,omitempty"`
	Token string   `json:"token,omitempty"`
	// Foreign is set for an existing server. Its owner may forbid some calls.
	Foreign bool `json:"foreign,omitempty"`

	Prepare *setUpRequest `json:"prepare,omitempty"`
	Look    bool          `json:"look,omitempty"`
	Clear   string        `json:"clear,omitempty"` // name of the mounts to remove
	// Size is a file whose size is asked for. Empty is a file to truncate.
	Size  string `json:"size,omitempty"`
	Empty string `json:"empty,omitempty"`
}

// requestHelper carries out one request and prints the response.
var requestHelper = testbed.Helper{Name: "vault-order", Run: helperrpc.Answering("the request", carryOut)}

// Helpers are the workload's helpers.
var Helpers = slices.Concat([]testbed.Helper{memberHelper, requestHelper, service.Helper}, http.Helpers)

func carryOut(ctx context.Context, r *request) (any, error) {
	switch {
	case r.Prepare != nil:
		return r.prepare(ctx)
	case r.Look:
		return r.state(ctx)
	case r.Clear != "":
		return nil, r.clear(ctx)
	case r.Size != "":
		about, err := os.Stat(r.Size)
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return nil, err
		}
		return about.Size(), nil
	case r.Empty != "":
		return nil, os.Truncate(r.Empty, 0)
	}
	return nil, errors.New("a request without content")
}

// ask has a helper at a place carry out a request. It reads the response into out unless out is nil.
func ask(ctx context.Context, site testbed.Site, where testbed.Place, limit time.Duration, r request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := helperrpc.Once(ctx, site, where, requestHelper.Name, r, out)
	var lost *testbed.Disturbance
	if exit := (*testbed.ExitError)(nil); errors.As(err, &exit) && exit.Stderr != "" && !errors.As(err, &lost) {
		return errors.New(exit.Stderr)
	}
	return err
}
