//go:build !unix

package machine

// allowed returns false, since this system has no such limits.
func (limit) allowed() (uint64, bool) { return 0, false }
