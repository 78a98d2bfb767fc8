// Package draft writes experiment files: one for a command line (line.go), and one for a user to start from
// (start.go).
package draft
