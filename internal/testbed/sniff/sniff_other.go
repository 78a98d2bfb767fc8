//go:build !linux

// Package sniff counts the frames in a network namespace that contain a pattern. It exists only on Linux.
package sniff
