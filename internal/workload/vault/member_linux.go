package vault

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// inMemory makes a file in memory and returns its path. The file is still open after this process has executed
// another program.
func inMemory(text string) (string, error) {
	fd, err := unix.MemfdCreate("tare", 0)
	if err != nil {
		return "", fmt.Errorf("a file in memory: %w", err)
	}
	for rest := []byte(text); len(rest) > 0; { // unix.Write and no os.File, since the garbage collector would close an os.File
		n, err := unix.Write(fd, rest)
		if err != nil {
			return "", fmt.Errorf("a file in memory: %w", err)
		}
		rest = rest[n:]
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

func execProgram(path string, args, env []string) error {
	if err := unix.Exec(path, args, env); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
