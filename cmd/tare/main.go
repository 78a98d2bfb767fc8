// Tare measures what a security layer costs the workload inside it.
package main

import (
	"os"

	"tare/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System()))
}
