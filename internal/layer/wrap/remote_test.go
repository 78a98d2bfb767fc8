package wrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// pods is a site whose pods have the programs of a directory and no others.
type pods struct {
	testbed.Site
	dir  string
	self string
	lost error
}

func (p pods) Self(where testbed.Place) string {
	if where == testbed.Host {
		return ""
	}
	return p.self
}

func (p pods) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if p.lost != nil {
		return nil, p.lost
	}
	program := filepath.Join(p.dir, cmd.Args[0])
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%s is not in the pod", cmd.Args[0])
	}
	cmd.Args = append([]string{program}, cmd.Args[1:]...)
	return local.Here.Start(ctx, testbed.Host, cmd)
}

// podsWith creates a site whose pods have a wrapper program.
func podsWith(t *testing.T, program string) pods {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := pods{dir: t.TempDir(), self: self}
	if err := os.WriteFile(filepath.Join(p.dir, program), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// The wrapper for programs in pods is looked up there, and only there.
func TestInPods(t *testing.T) {
	const there, here = "tare-test-only-in-pods", "sh"
	site := podsWith(t, there)
	c := &Config{Run: []string{there}}
	s := new(layer.Run).At(site, testbed.ClientPod, testbed.ServerPod)
	up, err := c.Up(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if checks, err := up.Settle(t.Context()); err != nil || len(checks) != 1 || !checks[0].Once || !checks[0].OK {
		t.Errorf("%+v, %v", checks, err)
	}
	checks, err := up.Before(t.Context(), layer.WithWrappers(site, up))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range checks {
		got = append(got, fmt.Sprintf("%s: %s: %t", k.Name, k.Observed, k.OK))
	}
	want := []string{"command in front in the client-pod: it does: true", "command in front in the server-pod: it does: true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	c = &Config{Run: []string{here, "-c", "true"}} // this program exists on this machine only
	if up, err = c.Up(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	checks, err = up.Settle(t.Context())
	if err != nil || len(checks) != 2 || checks[0].OK || !strings.HasSuffix(checks[0].Observed, "sh is not in the pod") {
		t.Errorf("%+v, %v", checks, err)
	}
}

// A lost pod is no evidence.
func TestLostPod(t *testing.T) {
	site := podsWith(t, "front")
	site.lost = &testbed.Disturbance{What: "pod a", Err: errors.New("gone")}
	for _, c := range []*Config{{Run: []string{"front"}}, {Run: []string{"front"}, Proof: &proof{Run: []string{"id"}, Match: "x"}}} {
		up, err := c.Up(t.Context(), new(layer.Run).At(site, testbed.ClientPod))
		if err != nil {
			t.Fatal(err)
		}
		if checks, err := up.Before(t.Context(), layer.WithWrappers(site, up)); !errors.Is(err, site.lost) || checks != nil {
			t.Errorf("%+v, %v", checks, err)
		}
	}
}
