package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/testbed/kube/inventory"
)

func TestSiteName(t *testing.T) {
	tests := []struct{ arm, want string }{
		{"plain", "tare-0123456789-7-plain"},
		{"seccomp[rules=8]", "tare-0123456789-7-seccomp-rules-8"},
		{"--", "tare-0123456789-7"},
		{"Ünïcode\x1b[31m", "tare-0123456789-7-n-code-31m"},
		{strings.Repeat("long", 30), "tare-0123456789-7-" + strings.Repeat("long", 12)[:45]},
		{strings.Repeat("a", 44) + "-b", "tare-0123456789-7-" + strings.Repeat("a", 44)},
	}
	for _, tt := range tests {
		if got := siteName("0123456789", 7, tt.arm); got != tt.want || len(validation.IsDNS1123Label(got)) > 0 {
			t.Errorf("siteName(%q) = %q, want %q", tt.arm, got, tt.want)
		}
	}
}

func FuzzSiteName(f *testing.F) {
	f.Add("seccomp[rules=8]")
	f.Fuzz(func(t *testing.T, arm string) {
		if s := siteName(inventory.NewOwner(), 1, arm); len(validation.IsDNS1123Label(s)) > 0 {
			t.Errorf("siteName of %q = %q is no DNS label", arm, s)
		}
	})
}
