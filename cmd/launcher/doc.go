// Package launcher holds the launcher as bytes: a program of 5 KB, without a C library. The launcher restricts itself
// and then executes a program under test.
package launcher
