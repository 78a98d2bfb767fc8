//go:build !linux

package cli_test

// canUnshare returns false, since this system has no network namespaces.
func canUnshare() bool { return false }
