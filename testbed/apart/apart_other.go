//go:build !linux

package apart

// Rerun does nothing: there are no process id namespaces here, and no Tare that leaves
// processes behind.
func Rerun() (code int, done bool) { return 0, false }
