package pairs

import (
	"maps"
	"testing"
)

func TestPairs(t *testing.T) {
	want := map[string]string{"a": "1", "b": "2", "c": "3"}
	has := map[string]string{"a": "1", "b": "secret", "d": "4"}
	if got := Among(want, has); got != 1 {
		t.Errorf("%d among them, want 1", got)
	}
	if got, text := Written(want, has), `a="1", b of another value, c absent`; got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	if got := Without(want, has); !maps.Equal(got, map[string]string{"c": "3"}) {
		t.Errorf("without: %v", got)
	}
	if got := Without(nil, has); len(got) != 0 {
		t.Errorf("without anything: %v", got)
	}
}
