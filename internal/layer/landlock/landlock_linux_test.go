package landlock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

// possible skips the test if the kernel has no Landlock.
func possible(t *testing.T) {
	t.Helper()
	if f := Kind.Probe(t.Context())[0]; f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
}

func TestProofs(t *testing.T) {
	possible(t)
	site := localtest.Host(t)
	for _, c := range []*Config{{Rules: factor.Of(1)}, {Rules: factor.Of(64)}, {Rules: factor.Of(8), Writable: []string{"/tmp/"}}} {
		place := "/tmp"
		if c.Writable != nil {
			place = "/var/tmp"
		}
		a := layertest.Up(t, c, site)
		what := "file made where no rule allows it (write:" + place + "): "
		if on := layertest.Text(layertest.On(t, a, site)); on != what+"EACCES; outside allowed: true" {
			t.Errorf("on:\n%s", on)
		}
		if off := layertest.Text(layertest.Off(t, c, site)); off != what+"allowed: true" {
			t.Errorf("off:\n%s", off)
		}
	}
	site = layertest.Broken(site)
	on := layertest.Text(layertest.On(t, layertest.Up(t, &Config{Rules: factor.Of(8)}, site), site))
	if !strings.HasSuffix(on, "allowed; outside allowed: false") {
		t.Errorf("with a broken helper:\n%s", on)
	}
}

// Actions outside the rules' scope are still allowed.
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
		a := layertest.Up(t, &Config{Rules: factor.Of(8), Writable: c.writable}, site)
		_, err := evidence.Output(t.Context(), layer.WithWrappers(site, a), testbed.Host, testbed.Command{Args: []string{"sh", "-c", c.script}, Subject: true}, evidence.Limit)
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
