package krew

import (
	"os"
	"strings"
	"testing"
)

var sums = map[string]string{
	"linux-amd64": strings.Repeat("a", 64), "linux-arm64": strings.Repeat("b", 64),
	"darwin-amd64": strings.Repeat("c", 64), "darwin-arm64": strings.Repeat("d", 64),
	"windows-amd64": strings.Repeat("e", 64), "windows-arm64": strings.Repeat("f", 64),
}

func template(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("tare.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestManifest(t *testing.T) {
	m, err := Check("tare", []byte(Fill(template(t), "v1.2.3", "https://releases.example.org/v1.2.3/", sums)))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Spec.Platforms) != len(sums) || m.Spec.Version != "v1.2.3" {
		t.Fatalf("manifest is %+v", m)
	}
	for _, p := range m.Spec.Platforms {
		platform := p.Selector.MatchLabels["os"] + "-" + p.Selector.MatchLabels["arch"]
		if want := "https://releases.example.org/v1.2.3/tare-v1.2.3-" + platform + ".tar.gz"; p.URI != want || p.SHA256 != sums[platform] {
			t.Errorf("%s is had from %s with %s, want %s with %s", platform, p.URI, p.SHA256, want, sums[platform])
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"v1.2.3\n", "1.2.3\n", `version "1.2.3" is not a semantic version with a v`},
		{"name: tare", "name: weight", `the plug-in is called "weight", not "tare"`},
		{"kind: Plugin", "kind: Plug", `kind is "Plug"`},
		{"v1alpha2", "v1", `apiVersion is "krew.googlecontainertools.github.com/v1"`},
		{"https://releases", "http://releases", `platforms[0]: uri "http://releases.example.org/tare-v1.2.3-linux-amd64.tar.gz" is not an address of https`},
		{sums["linux-amd64"], "SHA256-linux-amd64", `platforms[0]: sha256 "SHA256-linux-amd64" is not 64 hexadecimal digits`},
		{"bin: tare", "bin: ../tare", `platforms[0]: bin "../tare" is not a path in the archive`},
		{"arch: arm64", "arch: amd64", `platforms[1]: linux/amd64 is there twice`},
		{"{os: linux, arch: amd64}", "{os: linux}", "platforms[0]: the selector map[os:linux] does not have os and arch, and nothing else"},
		{"caveats:", "caveat:", `unknown field "caveat"`},
		{"Measure what", "Measure " + strings.Repeat("x", 70), "shortDescription has more than 70 characters"},
	} {
		good := Fill(template(t), "v1.2.3", "https://releases.example.org", sums)
		if !strings.Contains(good, test.from) {
			t.Errorf("the manifest has no %q", test.from)
			continue
		}
		if _, err := Check("tare", []byte(strings.Replace(good, test.from, test.to, 1))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s for %s: %v, want %s", test.to, test.from, err, test.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	content, err := os.ReadFile("tare.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(Fill(string(content), "v1.2.3", "https://releases.example.org", sums))
	f.Fuzz(func(t *testing.T, manifest string) {
		m, err := Check("tare", []byte(manifest))
		if err == nil && (m.Metadata.Name != "tare" || len(m.Spec.Platforms) == 0) {
			t.Errorf("%+v passes", m)
		}
	})
}
