package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tare/safetext"
	"tare/testbed"
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

// orderHelper carries out one order.
var orderHelper = testbed.Helper{Name: "vault-order", Run: obey}

// Helpers are the workload's own processes.
var Helpers = slices.Concat([]testbed.Helper{memberHelper, orderHelper, service.Helper}, http.Helpers)

// obey reads an order and prints its answer.
func obey(ctx context.Context) error {
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return fmt.Errorf("the order: %w", err)
	}
	answer, err := o.carryOut(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func (o *order) carryOut(ctx context.Context) (any, error) {
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
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var answer, why bytes.Buffer
	cmd := testbed.HelperAt(site, where, orderHelper.Name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &answer, &why
	process, err := site.Start(ctx, where, cmd)
	if err != nil {
		return err
	}
	if _, err := process.Wait(); err != nil {
		var lost *testbed.Disturbance
		if told := strings.TrimSpace(why.String()); told != "" && !errors.As(err, &lost) {
			err = errors.New(safetext.Line(told))
		}
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(&answer, 4<<20)).Decode(out); err != nil {
		return fmt.Errorf("the answer of the servers: %w", err)
	}
	return nil
}
