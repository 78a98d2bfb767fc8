// Command coredns is CoreDNS with what a cluster's own names need, and no other
// plugin: it answers from memory, so that there is nothing to cache, and asks no
// other server.
package main

import (
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func main() {
	dnsserver.Directives = []string{"errors", "kubernetes", "template"} // in the order in which they see a question
	coremain.Run()
}
