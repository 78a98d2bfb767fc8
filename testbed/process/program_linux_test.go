package process

import (
	"syscall"
	"testing"
	"time"
)

// TestMemoryThatNobodySaw: a small program that ends before its memory is looked at tells
// none. That is no peak of 0 bytes.
func TestMemoryThatNobodySaw(t *testing.T) {
	k := Keeper{EndLimit: time.Second} // which never looks
	p, err := k.Start(t.Context(), Order{Path: "/bin/true", Args: []string{"true"}, Attributes: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		t.Fatal(err)
	}
	used, err := p.Wait()
	if err != nil || !used.Unavailable || used.MaxRSS != 0 || used.Wall <= 0 {
		t.Errorf("%+v, %v: want no memory, and that it is not known", used, err)
	}
}
