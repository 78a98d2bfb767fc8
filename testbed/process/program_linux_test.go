package process

import (
	"syscall"
	"testing"
	"time"
)

// TestMemoryThatNobodySaw: of a small program that ends before its memory is looked at,
// nothing is known but its CPU time.
func TestMemoryThatNobodySaw(t *testing.T) {
	k := Keeper{EndLimit: time.Second} // which never looks
	p, err := k.Start(t.Context(), Order{Path: "/bin/true", Args: []string{"true"}, Attributes: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		t.Fatal(err)
	}
	used, err := p.Wait()
	if err != nil || used.Unavailable || used.MaxRSS != 0 || used.CPU() <= 0 || used.Wall <= 0 {
		t.Errorf("%+v, %v: want CPU time and no memory", used, err)
	}
}
