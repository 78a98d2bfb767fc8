package examples_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files that run istiod on one machine start and configure it in the same way, except for the number of
// services and of changes.
func TestIstiod(t *testing.T) {
	differs := regexp.MustCompile(`(?m)(SERVICES: |times: ).*$`)
	block := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nx-istiod: ")
		found, _, ends := strings.Cut(rest, "\narms:")
		if !ends {
			t.Fatalf("%s has no x-istiod before its arms", name)
		}
		return differs.ReplaceAllString(found, "$1")
	}
	want := block("istio-scenario-one.yaml")
	for _, name := range []string{"istio-scenario-two.yaml", "istiod-capacity.yaml"} {
		if diff := cmp.Diff(want, block(name)); diff != "" {
			t.Errorf("%s: -istio-scenario-one +this\n%s", name, diff)
		}
	}
}
