package apart_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"tare/internal/test/apart"
)

// A test that runs apart sees no process of the machine but its own.
func TestApart(t *testing.T) {
	if os.Getenv("TARE_TEST_APART") == "" {
		other := exec.Command("sleep", "1000")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
		t.Setenv("OTHER", strconv.Itoa(other.Process.Pid))
	}
	if apart.Test(t) {
		return
	}
	if os.Getenv("TARE_TEST_APART") == "" {
		t.Skip("this machine allows no process id namespace")
	}
	command, _ := os.ReadFile("/proc/" + os.Getenv("OTHER") + "/cmdline")
	if strings.HasPrefix(string(command), "sleep") || os.Getpid() > 100 {
		t.Errorf("process %d sees %q", os.Getpid(), command)
	}
}
