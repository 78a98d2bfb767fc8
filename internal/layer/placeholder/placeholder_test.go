package placeholder

import (
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	values := Values{Namespace: "tare-1", Context: "$(TARE_NAMESPACE)"}
	for text, want := range map[string]string{
		"":                                    "",
		"x-$(TARE_NAMESPACE).$(TARE_CONTEXT)": "x-tare-1.$(TARE_NAMESPACE)", // filled-in values are not searched for placeholders
		"$$(TARE_NAMESPACE) $(POD_IP) $TARE_NAMESPACE $(": "$(TARE_NAMESPACE) $(POD_IP) $TARE_NAMESPACE $(",
		"$$$(TARE_NAMESPACE)":                             "$$(TARE_NAMESPACE)",
	} {
		if got, err := values.Fill(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	_, err := values.Fill("a $(TARE_ARM)")
	if want := "$(TARE_ARM) is not known here: known is $(TARE_CONTEXT), $(TARE_NAMESPACE)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzFill(f *testing.F) {
	f.Add("a$(TARE_NAMESPACE)$$(TARE_NAMESPACE)$(TARE_X)")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Values{Namespace: "ns"}.Fill(text)
		if err == nil && !strings.Contains(text, "$(TARE_") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
