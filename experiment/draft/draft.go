// Package draft writes experiment files: one that a command line asks for (line.go), and one to
// begin with (start.go).
package draft
