//go:build !unix

package machine

// allowed returns false: on this system, Tare knows no limits.
func (limit) allowed() (uint64, bool) { return 0, false }
