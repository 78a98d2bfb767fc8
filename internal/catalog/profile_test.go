package catalog_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment"
)

// The example of the published load of Vault writes the values of its profile out, and no others.
func TestProfileWrittenOut(t *testing.T) {
	text, err := examples.Files.ReadFile("constellation-vault.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := func(text []byte) string {
		x, err := experiment.Load("file.yaml", text, catalog.Kinds())
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(x.Workloads[0].Config)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	short := regexp.MustCompile(`(?s)(profile: vault-benchmark\n).*?( +headline)`).ReplaceAll(text, []byte("$1$2"))
	if len(short) > len(text)-300 {
		t.Fatal("the example does not write the values out")
	}
	if got, want := config(text), config(short); got != want {
		t.Errorf("the example has\n%s\nand the profile\n%s", got, want)
	}
}
