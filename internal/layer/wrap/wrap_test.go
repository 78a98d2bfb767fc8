package wrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

func TestProofs(t *testing.T) {
	const weak = "the command in front has no proof: it was started, but nothing shows that it has an effect"
	tests := []struct {
		name    string
		config  Config
		on, off layer.Check
	}{
		{
			"shown by its effect",
			Config{Run: []string{"env", "TARE_TEST_WRAP=1"}, Proof: &proof{Run: []string{"sh", "-c", "echo got=$TARE_TEST_WRAP"}, Match: "got=1"}},
			layer.Check{Name: "sh -c 'echo got=$TARE_TEST_WRAP'", Expected: "to match got=1", Observed: `"got=1\n"`, OK: true},
			layer.Check{Name: "sh -c 'echo got=$TARE_TEST_WRAP'", Expected: "not to match got=1", Observed: `"got=\n"`, OK: true},
		},
		{
			"no effect",
			Config{Run: []string{"env"}, Proof: &proof{Run: []string{"sh", "-c", "echo got=$TARE_TEST_WRAP"}, Match: "got=1"}},
			layer.Check{Name: "sh -c 'echo got=$TARE_TEST_WRAP'", Expected: "to match got=1", Observed: `"got=\n"`},
			layer.Check{Name: "sh -c 'echo got=$TARE_TEST_WRAP'", Expected: "not to match got=1", Observed: `"got=\n"`, OK: true},
		},
		{
			"matches always",
			Config{Run: []string{"env"}, Proof: &proof{Run: []string{"echo", "yes"}, Match: "yes"}},
			layer.Check{Name: "echo yes", Expected: "to match yes", Observed: `"yes\n"`, OK: true},
			layer.Check{Name: "echo yes", Expected: "not to match yes", Observed: `"yes\n"`},
		},
		{
			"proof fails without the layer",
			Config{Run: []string{"env", "X=0"}, Proof: &proof{Run: []string{"sh", "-c", "echo why >&2; test -n \"$X\" && echo x || exit 3"}, Match: "x"}},
			layer.Check{Name: `sh -c 'echo why >&2; test -n "$X" && echo x || exit 3'`, Expected: "to match x", Observed: `"x\n"`, OK: true},
			layer.Check{Name: `sh -c 'echo why >&2; test -n "$X" && echo x || exit 3'`, Expected: "not to match x",
				Observed: `""; sh -c 'echo why >&2; test -n "$X" && echo x || exit 3': exit status 3: why`, OK: true},
		},
		{
			"without a proof",
			Config{Run: []string{"env", "-u", "HOME"}},
			layer.Check{Name: "command in front", Expected: "it starts a command and passes its answer on",
				Observed: "it does", Caveat: weak, OK: true},
			layer.Check{}, // no check
		},
		{
			"clears the environment",
			Config{Run: []string{"env", "-i"}},
			layer.Check{Name: "command in front", Expected: "it starts a command and passes its answer on",
				Observed: "it does", Caveat: weak, OK: true},
			layer.Check{}, // no check
		},
		{
			"matches a line",
			Config{Run: []string{"env", "X=19"}, Proof: &proof{Run: []string{"sh", "-c", "echo $X"}, Match: "^19$"}},
			layer.Check{Name: "sh -c 'echo $X'", Expected: "to match ^19$", Observed: `"19\n"`, OK: true},
			layer.Check{Name: "sh -c 'echo $X'", Expected: "not to match ^19$", Observed: `"\n"`, OK: true},
		},
		{
			"starts nothing",
			Config{Run: []string{"echo"}},
			layer.Check{Name: "command in front", Expected: "it starts a command and passes its answer on", Observed: "it answered \"cat\\n\"",
				Caveat: weak + "; Tare's executable cannot be started inside the wrapper, for example because the wrapper has its own root"},
			layer.Check{}, // no check
		},
	}
	site := localtest.Host(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.on.Layer, test.off.Layer = name, name
			on := layertest.On(t, layertest.Up(t, &test.config, site), site)
			if diff := cmp.Diff([]layer.Check{test.on}, on); diff != "" {
				t.Errorf("on: %s", diff)
			}
			var want []layer.Check
			if test.off.Name != "" {
				want = []layer.Check{test.off}
			}
			if diff := cmp.Diff(want, layertest.Off(t, &test.config, site)); diff != "" {
				t.Errorf("off: %s", diff)
			}
		})
	}
}

func TestProofThatCannotStart(t *testing.T) {
	c := Config{Run: []string{"env"}, Proof: &proof{Run: []string{"tare-test-no-such-program"}, Match: "x"}}
	checks := layertest.Off(t, &c, localtest.Host(t))
	if checks[0].OK || !strings.Contains(checks[0].Observed, "tare-test-no-such-program") {
		t.Errorf("%+v", checks[0])
	}
}

func TestUpWithoutTheProgram(t *testing.T) {
	_, err := (&Config{Run: []string{"tare-test-no-such-program"}}).Up(t.Context(), new(layer.Run).At(localtest.Host(t)))
	want := `find the wrapper program: exec: "tare-test-no-such-program": executable file not found in $PATH`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		config Config
		want   []experiment.FieldError
	}{
		{Config{Run: []string{"env"}}, nil},
		{Config{Proof: &proof{Match: "["}}, []experiment.FieldError{
			{Field: "run", Message: "no program is given: write it as a list, [program, argument…]"},
			{Field: "proof.run", Message: "no program is given: write it as a list, [program, argument…]"},
			{Field: "proof.match", Message: "\"[\" is not a regular expression: error parsing regexp: missing closing ]: `[`"},
		}},
		{Config{Run: []string{"env"}, Proof: &proof{Run: []string{"true"}, Match: "a*"}}, []experiment.FieldError{
			{Field: "proof.match", Message: `"a*" matches even if nothing is printed, and so proves nothing`},
		}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, test.config.validate()); diff != "" {
			t.Error(diff)
		}
	}
}
