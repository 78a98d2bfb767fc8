package landlock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/evidence"
	"tare/layer/front"
	"tare/testbed"
	"tare/testbed/local/localtest"
)

func TestMain(m *testing.M) {
	var err error
	switch testbed.HelperName() {
	case front.Prober:
		err = front.Probe(context.Background())
	case name:
		if os.Getenv("TARE_TEST_BROKEN") != "" { // it becomes the command, and makes no ruleset
			err = front.Become(func(parameters) error { return nil })(context.Background())
			break
		}
		err = Kind.Helper(context.Background())
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// possible skips where the kernel has no Landlock.
func possible(t *testing.T) {
	t.Helper()
	if f := Kind.Probe(t.Context())[0]; f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
}

func shown(checks []layer.Check) string {
	var lines []string
	for _, c := range checks {
		if !c.Once {
			lines = append(lines, fmt.Sprintf("%s: %s: %t", c.Name, c.Observed, c.OK))
		}
	}
	return strings.Join(lines, "\n")
}

func TestProofs(t *testing.T) {
	possible(t)
	site := localtest.Host(t)
	session := new(layer.Run).At(site)
	for _, c := range []*Config{{Rules: factor.Of(1)}, {Rules: factor.Of(64)}, {Rules: factor.Of(8), Writable: []string{"/tmp/"}}} {
		place := "/tmp"
		if c.Writable != nil {
			place = "/var/tmp"
		}
		a, err := c.Up(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		what := "file made where no rule allows it (write:" + place + "): "
		on, err := a.Before(t.Context(), layer.Dress(site, a))
		if err != nil || shown(on) != what+"EACCES; outside allowed: true" {
			t.Errorf("on: %v\n%s", err, shown(on))
		}
		off, err := c.ProveOff(t.Context(), session)
		if err != nil || shown(off) != what+"allowed: true" {
			t.Errorf("off: %v\n%s", err, shown(off))
		}
	}
	t.Setenv("TARE_TEST_BROKEN", "1")
	a, err := (&Config{Rules: factor.Of(8)}).Up(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	on, err := a.Before(t.Context(), layer.Dress(site, a))
	if err != nil || !strings.HasSuffix(shown(on), "allowed; outside allowed: false") {
		t.Errorf("with a broken helper: %v\n%s", err, shown(on))
	}
}

// What programs may still do.
func TestAllowed(t *testing.T) {
	possible(t)
	site, dir := localtest.Host(t), t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		writable []string
		script   string
		works    bool
	}{
		{nil, "cat /etc/passwd >/dev/null", true},
		{nil, "echo new >" + file, true},
		{nil, "echo new >" + file + "2", false},
		{nil, "rm " + file, false},
		{[]string{dir}, "echo new >" + file + "3 && rm " + file + "3", true},
	} {
		a, err := (&Config{Rules: factor.Of(8), Writable: c.writable}).Up(t.Context(), new(layer.Run).At(site))
		if err != nil {
			t.Fatal(err)
		}
		_, err = evidence.Output(t.Context(), layer.Dress(site, a), testbed.Host, testbed.Command{Args: []string{"sh", "-c", c.script}, Subject: true}, evidence.Limit)
		if (err == nil) != c.works {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   []experiment.FieldError
	}{
		{Config{Rules: factor.Of(0, 1, 64)}, nil},
		{Config{Rules: factor.Of(0, 2, 3), Writable: []string{"/tmp", "/var/tmp"}}, []experiment.FieldError{
			{Field: "rules", Message: "2 rules are too few for the root and 2 writable directories"}}},
		{Config{Rules: factor.Of(8), Writable: []string{"tmp", "/"}}, []experiment.FieldError{
			{Field: "writable[0]", Message: `"tmp" is not the path of a directory below /`},
			{Field: "writable[1]", Message: `"/" is not the path of a directory below /`}}},
	} {
		if diff := cmp.Diff(c.want, c.config.validate()); diff != "" {
			t.Error(diff)
		}
	}
}
