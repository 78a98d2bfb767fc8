package kubecontext

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/layer"
)

func TestChecks(t *testing.T) {
	c := &config{Name: "confidential"}
	check := func(expected, observed string, ok bool, caveat string) layer.Check {
		return layer.Check{Layer: name, Name: "cluster", Expected: expected, Observed: observed, OK: ok, Caveat: caveat}
	}
	const mine = "context confidential, cluster u2"
	for _, test := range []struct {
		name string
		got  layer.Check
		want layer.Check
	}{
		{"here", c.here("confidential", "u2", "u2"), check(mine, mine, true, confounded)},
		{"another cluster by that name", c.here("confidential", "u3", "u2"), check(mine, "context confidential, cluster u3", false, confounded)},
		{"another context", c.here("plain", "u2", "u2"), check(mine, "context plain, cluster u2", false, confounded)},
		{"a cluster that does not tell", c.here("confidential", "", ""), check("context confidential, cluster unknown", "context confidential, cluster unknown", false, confounded)},
		{"elsewhere", c.elsewhere("plain", "u1", "u2"), check("not "+mine, "context plain, cluster u1", true, "")},
		{"not elsewhere", c.elsewhere("confidential", "u2", "u2"), check("not "+mine, mine, false, "")},
		{"by another way", c.elsewhere("plain", "u2", "u2"), check("not "+mine, "context plain, cluster u2", true,
			"the contexts plain and confidential name the same cluster: they differ in its address or in the user, and its nodes are the same")},
		{"elsewhere, not told", c.elsewhere("plain", "", "u2"), check("not "+mine, "context plain, cluster unknown", false, "")},
		{"never up", c.elsewhere("plain", "u1", ""), check("not context confidential, cluster unknown", "context plain, cluster u1", false, "")},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
