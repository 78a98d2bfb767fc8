package storage

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/workload"
)

// kernel is a site on which cat prints a kernel's version.
type kernel struct {
	directory
	text string // shell script in place of cat; "": cat is missing
}

func (k kernel) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if k.text == "" {
		return nil, exec.ErrNotFound
	}
	cmd.Args = []string{"sh", "-c", k.text}
	return local.Here.Start(ctx, testbed.Host, cmd)
}

func TestPast(t *testing.T) {
	tests := []struct {
		name, text string
		want       error
	}{
		{"Linux", "echo 'Linux version 6.12.0 (gcc) #1 SMP PREEMPT_DYNAMIC Debian 6.12.1 (2026-01-10)'", nil},
		{"gVisor", "echo 'Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016'", errDropped},
		{"older gVisor", "echo 'Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016'", errDropped},
		{"not told", "exit 1", nil},
		{"no cat", "", nil},
	}
	for _, test := range tests {
		c := short(randomRead)
		tr, err := c.begin(&workload.Trial{Site: kernel{"/v", test.text}, Raw: &memory{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.checkDirect(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}
