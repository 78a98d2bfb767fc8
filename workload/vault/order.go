package vault

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"tare/testbed"
	"tare/testbed/orders"
	"tare/workload/http"
	"tare/workload/service"
)

// order is what a process in a pod is told on its standard input. One member is set beside
// the addresses.
type order struct {
	URLs  []string `json:"urls,omitempty"` // of the members' APIs, or of the server that exists
	CA    string   `json:"ca,omitempty"`
	Token string   `json:"token,omitempty"`
	// Foreign: the server is someone's, who may not let all be seen.
	Foreign bool `json:"foreign,omitempty"`

	Prepare *preparation `json:"prepare,omitempty"`
	Look    bool         `json:"look,omitempty"`
	Clear   string       `json:"clear,omitempty"` // the prepared mount that is removed
	// Size and Empty are of a file there.
	Size  string `json:"size,omitempty"`
	Empty string `json:"empty,omitempty"`
}

// orderHelper carries out one order, and prints its answer.
var orderHelper = testbed.Helper{Name: "vault-order", Run: orders.Answering("the order", carryOut)}

// Helpers are the workload's own processes.
var Helpers = slices.Concat([]testbed.Helper{memberHelper, orderHelper, service.Helper}, http.Helpers)

func carryOut(ctx context.Context, o *order) (any, error) {
	switch {
	case o.Prepare != nil:
		return o.prepare(ctx)
	case o.Look:
		return o.look(ctx)
	case o.Clear != "":
		return nil, o.clear(ctx)
	case o.Size != "":
		about, err := os.Stat(o.Size)
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return nil, err
		}
		return about.Size(), nil
	case o.Empty != "":
		return nil, os.Truncate(o.Empty, 0)
	}
	return nil, errors.New("an order that says nothing")
}

// give has a process at a place carry an order out, and reads the answer into out unless that
// is nil.
func give(ctx context.Context, site testbed.Site, where testbed.Place, limit time.Duration, o order, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := orders.Once(ctx, site, where, orderHelper.Name, o, out)
	var lost *testbed.Disturbance
	if exit := (*testbed.ExitError)(nil); errors.As(err, &exit) && exit.Stderr != "" && !errors.As(err, &lost) {
		return errors.New(exit.Stderr)
	}
	return err
}
