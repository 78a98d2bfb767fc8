package importer

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestLayout(t *testing.T) {
	study := Layout{Path: "results/{cni}{layer:(-wg|-ipsec)?}/{rep}/{cell}-client.stdout", Arm: []string{"layer"}, Block: []string{"cni"}}
	for _, c := range []struct {
		name   string
		layout Layout
		path   string // the file's path below the directory
		want   string
	}{
		{"without the layer", study, "calico/3/p2p-client.stdout", "none calico 3 p2p []"},
		{"with it", study, "calico-wg/3/p2p-client.stdout", "wg calico 3 p2p []"},
		{"a longer name", study, "kube-ovn-ipsec/3/p2p-client.stdout", "ipsec kube-ovn 3 p2p []"},
		{"another file", study, "calico/3/p2p-server.stdout", ""},
		{"another depth", study, "x/calico/3/p2p-client.stdout", ""},
		{"a factor", Layout{Path: "{arm}/mtu-{mtu:[0-9]{3,4}}/{_}.json"}, "wg/mtu-1500/x.json", "wg    [mtu=1500]"},
		{"that does not match", Layout{Path: "{arm}/mtu-{mtu:[0-9]{3,4}}/{_}.json"}, "wg/mtu-15/x.json", ""},
		{"several fields", Layout{Path: "{arm}/{a}/{b}/{c}.json", Block: []string{"a", "b"}}, "wg/x/y/z.json", "wg x/y   [c=z]"},
		{"literal text", Layout{Path: "{arm}/a.b+(c).json"}, "wg/a.b+(c).json", "wg    []"},
	} {
		if err := c.layout.compile(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, ok := c.layout.of(filepath.FromSlash(c.path))
		if got := fmt.Sprint(p.arm, " ", p.block, " ", p.round, " ", p.cell, " ", p.levels); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
}

func TestLayoutErrors(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		want   string
	}{
		{Layout{Path: "results"}, `cannot read the template "results": it has no {FIELD}`},
		{Layout{Path: "a/{arm"}, `cannot read the template "a/{arm": "{arm" has no closing brace`},
		{Layout{Path: "a/{}"}, `cannot read the template "a/{}": "{}" is no field`},
		{Layout{Path: "a/{x y}"}, `cannot read the template "a/{x y}": "{x y}" is no field`},
		{Layout{Path: "a/{arm}/{arm}"}, `cannot read the template "a/{arm}/{arm}": the field {arm} is there twice`},
		{Layout{Path: "a/{arm:(}"}, `cannot read the template "a/{arm:(}": {arm}: error parsing regexp: missing closing ): ` + "`(`"},
		{Layout{Path: "a/{cni}"}, "no field of the template names the arm"},
		{Layout{Path: "a/{cni}", Arm: []string{"cna"}}, "the template has no field {cna} to be the arm"},
		{Layout{Path: "a/{cni}", Arm: []string{"cni"}, Block: []string{"cni"}}, "the field {cni} cannot be both arm and block"},
	} {
		if err := c.layout.compile(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.layout, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"path: '{arm}'\narms: [x]\n": "layout.yaml:2:1",
		"arm: [x]\n":                 "path",
		"- x\n":                      "layout.yaml:1:1",
	} {
		if _, err := ReadLayout("layout.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	l, err := ReadLayout("studies/layout.yaml", []byte("path: 'results/{layer}/{rep}.json'\narm: [layer]\n"))
	if err != nil || l.Path != "studies/results/{layer}/{rep}.json" || l.Arm[0] != "layer" {
		t.Errorf("%+v, %v", l, err)
	}
}

// FuzzLayout checks that no template and no path causes a panic, and that a matching path yields an arm.
func FuzzLayout(f *testing.F) {
	f.Add("results/{cni}{layer:(-wg)?}/{arm}.json", "calico-wg/1.json")
	f.Add("{arm:[0-9]{2}}{_:.*}", "12x")
	f.Add("{arm:{", "}")
	f.Fuzz(func(t *testing.T, template, path string) {
		l := Layout{Path: template}
		if l.compile() != nil {
			return
		}
		if p, ok := l.of(path); ok && p.arm == "" {
			t.Errorf("%q tells no arm by %q", path, template)
		}
	})
}
