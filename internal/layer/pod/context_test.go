package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
)

// A securityContext has the same effect as the layer's own fields.
func TestSecurityContext(t *testing.T) {
	user := int64(0)
	for text, want := range map[string]*Config{
		"":                                 {},
		"{runAsUser: 0, privileged: true}": {RunAsUser: &user, Privileged: true},
		"{privileged: false}":              {},
		"{capabilities: {add: [NET_ADMIN], drop: [ALL]}}":                        {Capabilities: &capabilities{Add: []string{"NET_ADMIN"}, Drop: []string{"ALL"}}},
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
		"{runAsUsr: 0}":                       `not the securityContext of a container: error unmarshaling JSON: while decoding JSON: json: unknown field "runAsUsr"`,
		"{runAsUser: 3}":                      "it sets the same as the layer's field runAsUser: use only one of them",
		"{seccompProfile: {type: Localhost}}": "seccomp: the type of a profile is RuntimeDefault, Unconfined, or Localhost with a localhostProfile",
		"{appArmorProfile: {}}":               "appArmor: the type of a profile is RuntimeDefault, Unconfined, or Localhost with a localhostProfile",
		"{seccompProfile: {type: Strict}}":    "seccomp: the type of a profile is RuntimeDefault, Unconfined, or Localhost with a localhostProfile",
	} {
		c := &Config{RunAsUser: &user, SecurityContext: strictyaml.Document(text)}
		c.fill()
		errs := c.validate()
		if len(errs) != 1 || errs[0].Field != "securityContext" || errs[0].Message != want {
			t.Errorf("%s: %+v, want %s", text, errs, want)
		}
	}
}
