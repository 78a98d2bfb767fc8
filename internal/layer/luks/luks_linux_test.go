package luks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/layer/volumes/volumestest"
	"tare/internal/test/apart"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/testbed/local/localtest"
)

// victimVariable makes this program put a volume up and wait to be killed. Its value selects the kind of volume.
const victimVariable = "TARE_LUKS_TEST"

func TestMain(m *testing.M) {
	kind, ok := os.LookupEnv(victimVariable)
	if !ok {
		apart.Rerun()
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, victim(kind == "block"))
	os.Exit(1)
}

// possible skips the test if this system has no dm-crypt.
func possible(t *testing.T) {
	t.Helper()
	if f := probe(t.Context())[0]; f.Status != testbed.Works {
		t.Skipf("%s: %s", f.Name, f.Detail)
	}
}

// mappings lists Tare's mappings.
func mappings(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("/dev/mapper/tare-volume-*")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// gone waits until there is no mapping: the kernel removes one shortly after its mount has ended.
func gone(t *testing.T) {
	t.Helper()
	fit.Await(t, "the end of mappings", func() bool { return len(mappings(t)) == 0 })
}

// TestProofs encrypts the device of a volume, if the kernel can.
func TestProofs(t *testing.T) {
	possible(t)
	for _, c := range []struct {
		name   string
		change func(*config)
	}{
		{"default", func(*config) {}},
		{"small sectors, no workqueues", func(c *config) { c.SectorSize, c.Workqueues = factor.Of(512), false }},
		{"integrity", func(c *config) { c.Integrity = factor.Of(hmac) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLayer().(*config)
			c.change(l)
			site, _, checks := volumestest.Up(t, Kind, l)
			if got := volumestest.Text(checks); got != "marker on the device: true; driver of xts(aes): true; mapping: true" {
				t.Errorf("on: %s\n%+v", got, checks)
			}
			if got := volumestest.Text(layertest.Off(t, l, site)); got != "" {
				t.Errorf("off, while it is on: %s", got)
			}
			// The volume's data goes through the mapping only.
			var text []byte
			err := site.(testbed.VolumeStack).InVolume(func() (err error) {
				text, err = os.ReadFile("/proc/thread-self/mounts")
				return err
			})
			if err != nil || !strings.Contains(string(text), "/dev/mapper/tare-volume-") {
				t.Errorf("mounts: %v\n%s", err, text)
			}
		})
		gone(t)
	}
}

// TestBaseline finds the marker if no layer encrypts.
func TestBaseline(t *testing.T) {
	checks := layertest.Off(t, newLayer(), volumestest.Plain(t))
	if got := volumestest.Text(checks); got != "marker on the device: true" || checks[0].Expected != "in clear" {
		t.Errorf("%+v", checks)
	}
}

// TestBlock gives the workload the mapping itself. The proof fails if something other than Tare closes the mapping.
func TestBlock(t *testing.T) {
	possible(t)
	t.Run("open", func(t *testing.T) {
		site, l := localtest.Volume(t, volumestest.Size, true), newLayer()
		up, err := l.Up(t.Context(), new(layer.Run).At(site))
		if err != nil {
			t.Fatal(err)
		}
		if err := site.(testbed.Staged).Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		checks, err := up.Settle(t.Context())
		if err != nil || volumestest.Text(checks) != "marker on the device: true; driver of xts(aes): true" {
			t.Errorf("%v: %+v", err, checks)
		}
		given := site.(testbed.VolumeStack).Volume()
		if !strings.HasPrefix(given, "/dev/mapper/tare-volume-") {
			t.Errorf("the workload is given %s", given)
		}
		if checks, err = up.Before(t.Context(), site); err != nil || volumestest.Text(checks) != "mapping: true" {
			t.Errorf("%v: %+v", err, checks)
		}
		if t.Failed() {
			return
		}
		if out, err := exec.CommandContext(t.Context(), program, "close", filepath.Base(given)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if checks, err = up.Before(t.Context(), site); err == nil && (len(checks) != 1 || checks[0].OK) {
			t.Errorf("closed: %+v", checks)
		}
	})
	gone(t)
}

// TestKilled kills a Tare that has encrypted a volume. After a clean-up nothing is left.
func TestKilled(t *testing.T) {
	possible(t)
	for _, kind := range []string{"files", "block"} {
		t.Run(kind, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env, cmd.Stderr = append(os.Environ(), victimVariable+"="+kind), os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || len(mappings(t)) != 1 {
				t.Fatalf("%q, %v; mappings: %v", line, err, mappings(t))
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_, err = local.Clean(t.Context())
			dirs, more := local.CleanTemporary()
			if err := errors.Join(err, more); err != nil || len(dirs) != 1 {
				t.Errorf("cleaned %v, %v", dirs, err)
			}
			gone(t)
		})
	}
}

// victim puts a volume up, reports that and waits.
func victim(block bool) error {
	ctx := context.Background()
	bed, err := local.New()
	if err != nil {
		return err
	}
	site, err := bed.Open(ctx, testbed.Request{Name: "victim", Needs: experiment.Needs{Volume: &experiment.Volume{Size: volumestest.Size, Block: block}}, Level: experiment.Testbed{}.Level()})
	if err != nil {
		return err
	}
	up, err := newLayer().Up(ctx, new(layer.Run).At(site))
	if err != nil {
		return err
	}
	if err := site.(testbed.Staged).Ready(ctx); err != nil {
		return err
	}
	if _, err := up.Settle(ctx); err != nil {
		return err
	}
	fmt.Println("up")
	time.Sleep(time.Hour)
	return nil
}
