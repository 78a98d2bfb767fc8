package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func FuzzLabel(f *testing.F) {
	f.Add("seccomp[rules=8]")
	f.Fuzz(func(t *testing.T, name string) {
		if l := Label(name, NameLimit); l != "" && len(validation.IsDNS1123Label(l)) > 0 {
			t.Errorf("Label(%q) = %q is no DNS label", name, l)
		}
	})
}
