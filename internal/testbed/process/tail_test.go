package process

import (
	"strings"
	"testing"
)

func TestTailKeepsTheLast(t *testing.T) {
	var all strings.Builder
	kept := &Tail{To: &all}
	for range 3 {
		if _, err := kept.Write([]byte(strings.Repeat("x", tailSize-1) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kept.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	if got := kept.String(); len(got) != tailSize || !strings.HasSuffix(got, "x\nthe end") {
		t.Errorf("%d bytes kept, ending in %q", len(got), got[max(0, len(got)-10):])
	}
	if all.Len() != 3*tailSize+len("the end") {
		t.Errorf("%d bytes passed on", all.Len())
	}
	if (*Tail)(nil).String() != "" {
		t.Error("a tail that kept nothing gives something")
	}
}
