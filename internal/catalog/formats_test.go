package catalog

import (
	"regexp"
	"strings"
	"testing"
)

// TestFormats checks the properties of formats that the command line and its lists rely on.
func TestFormats(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	seen := map[string]bool{}
	for _, f := range Formats {
		if !name.MatchString(f.Name) || seen[f.Name] {
			t.Errorf("%q is no name, or comes twice", f.Name)
		}
		seen[f.Name] = true
		if f.Doc == "" || strings.HasSuffix(f.Doc, ".") || strings.ContainsAny(f.Doc, "\n\t") {
			t.Errorf("%s: %q is no sentence without a full stop", f.Name, f.Doc)
		}
		for _, e := range f.Extensions {
			if !strings.HasPrefix(e, ".") || strings.ToLower(e) != e {
				t.Errorf("%s: %q is no extension with its dot, in small letters", f.Name, e)
			}
		}
		if f.Read == nil {
			t.Errorf("%s reads nothing", f.Name)
		}
	}
}
