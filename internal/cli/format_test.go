package cli

import (
	"bytes"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"tare/internal/text/safetext"
)

// YAML output has the same content as the value, and is safe on a terminal.
func TestYAMLIsSafe(t *testing.T) {
	for _, text := range []string{
		"plain", "two\nlines", "two\nlines\n", "\n", " x\n y ", "", "null", "1.5", "a: b", "µ é 日本",
		"a\x1b[31m", "a\u202eb", "x\u009bb", "\u200b", "\x7f", "a\u2028b", "\ufeff", "tab\tx", "cr\rx", "a\u0085b", "a\U000e0041", "lines\n\x1b[31m\n",
	} {
		want := map[string]any{"value": text, "list": []any{text, map[string]any{"in": text}}, "key " + text: true}
		var out, safe bytes.Buffer
		if err := encode(&out, want, "yaml"); err != nil {
			t.Fatal(err)
		}
		w := safetext.NewWriter(&safe)
		if _, err := w.Write(out.Bytes()); err != nil || safe.String() != out.String() {
			t.Errorf("%q is written as it is: %q", text, out.String())
		}
		var got map[string]any
		if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Errorf("%q is not read back: %v\n%s", text, err, out.String())
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}
