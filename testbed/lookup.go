package testbed

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
)

// LookUp finds a program in the PATH of the environment that it will run in, from
// its working directory. Where it finds none it gives "" with that PATH, and with a
// file of that name that may not be executed, if there is one.
func LookUp(program, dir string, env []string) (found, refused, path string) {
	if strings.Contains(program, "/") {
		return program, "", "" // relative to the working directory
	}
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, d := range filepath.SplitList(path) { // like a shell, also behind what may not be executed
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		found, err := exec.LookPath(filepath.Join(d, program))
		if err == nil || errors.Is(err, exec.ErrDot) {
			return found, "", path
		}
		if errors.Is(err, fs.ErrPermission) {
			refused = filepath.Join(d, program)
		}
	}
	return "", refused, path
}
