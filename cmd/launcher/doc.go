// Package launcher embeds the launcher as bytes. The launcher is a program of 5 KB without a C library. It restricts
// itself and then executes a program under test.
package launcher
