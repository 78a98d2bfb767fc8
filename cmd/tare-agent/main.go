//go:build linux

// Command tare-agent is the program in Tare's pods. It is smaller than tare: it needs little memory, and starts fast
// even with a low CPU limit.
//
//	tare-agent serve          run as the first process of a pod and start programs on request
//	tare-agent connect        join stdin and stdout to the agent in this pod
//	tare-agent install PATH   copy this program to PATH
//	tare-agent facts          print the kernel, sandbox and privileges of this process as JSON
//	tare-agent --version
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/layer/env"
	"tare/internal/layer/ipsec"
	"tare/internal/layer/mtls"
	"tare/internal/layer/wireguard"
	"tare/internal/layer/wrap"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/launcher"
	"tare/internal/version"
	"tare/internal/workload/dns"
	"tare/internal/workload/startup/firstbyte"
	"tare/internal/workload/storage/residency"
	"tare/internal/workload/syscalls"
	"tare/internal/workload/vault"
	"tare/internal/workload/xds/fleet"
	"tare/internal/workload/xds/istiod"
)

// helpers lists the helpers that layers and workloads run in pods.
var helpers = slices.Concat([]testbed.Helper{
	{Name: env.Kind.Name, Run: env.Kind.Helper},
	{Name: mtls.Kind.Name, Run: mtls.Kind.Helper},
	{Name: wireguard.Kind.Name, Run: wireguard.Kind.Helper},
	{Name: ipsec.Kind.Name, Run: ipsec.Kind.Helper},
	{Name: wrap.Kind.Name, Run: wrap.Kind.Helper},
	fleet.Helper,
	istiod.Helper,
	launcher.Helper,
	residency.Helper,
	syscalls.Helper,
}, firstbyte.Helpers, dns.Helpers, vault.Helpers) // vault.Helpers includes the helpers of http and service

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tare-agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if name := testbed.HelperName(); name != "" {
		return runHelper(ctx, name)
	}
	switch command := strings.Join(args, " "); {
	case command == "serve":
		server := agent.Server{Version: version.String(), Self: []string{"/proc/self/exe", "facts"}}
		return server.Serve(ctx)
	case command == "connect":
		return agent.Connect(ctx, "", os.Stdin, os.Stdout)
	case command == "facts":
		return json.NewEncoder(os.Stdout).Encode(agent.ReadFacts())
	case command == "--version":
		_, err := fmt.Println("tare-agent", version.String())
		return err
	case len(args) == 2 && args[0] == "install":
		return agent.Install(args[1])
	default:
		return fmt.Errorf("%.80q: the commands are serve, connect, install PATH, facts and --version", command)
	}
}

func runHelper(ctx context.Context, name string) error {
	for _, h := range helpers {
		if h.Name == name {
			return h.Run(ctx)
		}
	}
	return fmt.Errorf("no helper %.80q in pods", name)
}
