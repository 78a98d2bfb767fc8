package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/experiment/factor"
	"tare/experiment/strictyaml"
)

// A securityContext says what the layer's own fields say.
func TestSecurityContext(t *testing.T) {
	user := int64(0)
	for text, want := range map[string]*Config{
		"":                                 {},
		"{runAsUser: 0, privileged: true}": {RunAsUser: &user, Privileged: true},
		"{privileged: false}":              {},
		"{capabilities: {add: [NET_ADMIN], drop: [ALL]}}":                        {Capabilities: &Capabilities{Add: []string{"NET_ADMIN"}, Drop: []string{"ALL"}}},
		"{seccompProfile: {type: Localhost, localhostProfile: a/b.json}}":        {Seccomp: factor.Of("Localhost/a/b.json")},
		"{appArmorProfile: {type: Unconfined}}":                                  {AppArmor: factor.Of("Unconfined")},
		"{readOnlyRootFilesystem: true, seccompProfile: {type: RuntimeDefault}}": {Seccomp: factor.Of("RuntimeDefault"), Patch: `{"spec":{"containers":[{"name":"tare","securityContext":{"readOnlyRootFilesystem":true}}]}}`},
	} {
		c := &Config{SecurityContext: strictyaml.Document(text)}
		c.fill()
		if diff := cmp.Diff(want, c); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"{runAsUsr: 0}":                       `it is none of a container: error unmarshaling JSON: while decoding JSON: json: unknown field "runAsUsr"`,
		"{runAsUser: 3}":                      "runAsUser stands beside it and says a part of the same: write both in one of them",
		"{seccompProfile: {type: Localhost}}": "seccomp: a profile has the type RuntimeDefault, Unconfined, or Localhost with its localhostProfile",
		"{appArmorProfile: {}}":               "appArmor: a profile has the type RuntimeDefault, Unconfined, or Localhost with its localhostProfile",
		"{seccompProfile: {type: Strict}}":    "seccomp: a profile has the type RuntimeDefault, Unconfined, or Localhost with its localhostProfile",
	} {
		c := &Config{RunAsUser: &user, SecurityContext: strictyaml.Document(text)}
		c.fill()
		errs := c.validate()
		if len(errs) != 1 || errs[0].Field != "securityContext" || errs[0].Message != want {
			t.Errorf("%s: %+v, want %s", text, errs, want)
		}
	}
}
