package keyvalue

import "testing"

func TestPairs(t *testing.T) {
	want := map[string]string{"a": "1", "b": "2", "c": "3"}
	has := map[string]string{"a": "1", "b": "secret", "d": "4"}
	if got := Among(want, has); got != 1 {
		t.Errorf("%d among them, want 1", got)
	}
	if got, text := Written(want, has), `a="1", b with another value, c absent`; got != text {
		t.Errorf("got %s, want %s", got, text)
	}
}
