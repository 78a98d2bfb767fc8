//go:build !linux

// Package frames counts the frames in a network namespace that contain a pattern. It exists only on Linux.
package frames
