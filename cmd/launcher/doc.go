// Package launcher has the launcher as bytes. The launcher is a program of 5 KB without a C library:
// it restricts itself and becomes a program under test by exec.
package launcher
