//go:build !linux

// Package frames counts the frames of a network namespace that contain a pattern. It is for
// Linux alone.
package frames
