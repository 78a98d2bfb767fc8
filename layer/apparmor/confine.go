package apparmor

import (
	"errors"
	"fmt"
	"io/fs"
)

// attributes are where a thread asks for the profile of the program that it becomes: that of AppArmor
// alone (Linux 5.8), and the one of old, which is the first security module's.
var attributes = []string{"/proc/thread-self/attr/apparmor/exec", "/proc/thread-self/attr/exec"}

// confine has the program that this thread becomes be in the profile.
func confine(p parameters) error {
	if p.Profile == "" {
		return nil
	}
	var err error
	for _, file := range attributes {
		if err = write(file, []byte("exec "+p.Profile)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("ask for the profile %s of AppArmor: %w", p.Profile, err)
	}
	return nil
}
