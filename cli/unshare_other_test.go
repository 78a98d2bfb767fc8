//go:build !linux

package cli_test

// canUnshare reports that there are no network namespaces here.
func canUnshare() bool { return false }
