package vault

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// findProgram returns the path of the program on this machine. It looks on PATH, and for bao where `make
// openbao` installs it.
func findProgram(program string) (string, error) {
	if program != "bao" {
		path, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("the program of the servers: %w", err)
		}
		return filepath.Abs(path)
	}
	path, err := testbed.Installed(program, "openbao")
	if err != nil {
		return "", fmt.Errorf("the program of the servers: %w (install it with: make openbao)", err)
	}
	return path, nil
}

// probe looks for OpenBao, and for Vault if it is installed, and reads their versions.
func probe(ctx context.Context) []testbed.Finding {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	all := []testbed.Finding{version(ctx, "bao")}
	if _, err := exec.LookPath("vault"); err == nil {
		all = append(all, version(ctx, "vault"))
	}
	return all
}

func version(ctx context.Context, program string) testbed.Finding {
	path, err := findProgram(program)
	if err != nil {
		return testbed.Finding{Name: program, Status: testbed.Missing, Detail: err.Error(), Hint: "make openbao"}
	}
	out, err := testbed.Output(ctx, local.Here, testbed.Host, path, "--version")
	if err != nil {
		return testbed.Finding{Name: program, Status: testbed.Refused, Detail: err.Error()}
	}
	return testbed.Finding{Name: program, Status: testbed.Works, Detail: strings.TrimSpace(string(out))}
}
