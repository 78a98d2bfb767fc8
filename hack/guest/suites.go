package main

import (
	"slices"
	"time"
)

// suite is a package whose tests the guest runs. A test of it that is skipped there has failed.
type suite struct {
	Package string // below the root of the sources
	Run     string // regular expression of the tests that are for the guest, as go test -run has it; "": all
	Skip    string // of those that are not, as go test -skip has it
	// Modules of the kernel that the tests need, as far as they are modules. What these need is found.
	Modules []string
	// Programs that the tests start. They come from this machine with their libraries; those of base are there.
	Programs []program
	Limit    time.Duration // 0: defaultLimit
}

// program is one of a Debian package.
type program struct{ name, from string }

// defaultLimit is how long the tests of a package may take in the guest, where a processor is played.
const defaultLimit = 10 * time.Minute

// base is what all packages get.
var base = []program{
	{"sh", "dash"}, {"cat", "coreutils"}, {"true", "coreutils"}, {"sleep", "coreutils"}, {"dd", "coreutils"}, {"mount", "mount"},
}

// What networks of the local testbed take, and volumes that the kernel encrypts, whose client has such a network.
var (
	network    = []string{"bridge", "veth", "sch_tbf", "nf_tables", "nft_chain_nat", "nft_nat"}
	storage    = []string{"loop", "dm_crypt", "dm_integrity", "xts", "authenc", "aesni_intel", "algif_skcipher"}
	encryption = []program{{"cryptsetup", "cryptsetup-bin"}, {"dmsetup", "dmsetup"}, {"mkfs.ext4", "e2fsprogs"}}
)

// suites are the packages whose tests need a kernel that many machines lack. A package with such
// tests is one more line.
var suites = []suite{
	{
		Package: "cli", Run: "^TestScripts$/^(apparmor|luks)$", Limit: 20 * time.Minute,
		Modules: slices.Concat(network, storage),
		Programs: slices.Concat(encryption, []program{
			{"apparmor_parser", "apparmor"}, {"fio", "fio"}, {"unshare", "util-linux"}, {"kill", "procps"}, {"grep", "grep"}, {"ls", "coreutils"},
		}),
	},
	{
		Package: "internal/layer/apparmor", Skip: "^TestRefused$",
		Programs: []program{{"apparmor_parser", "apparmor"}},
	},
	{Package: "internal/layer/bpf", Modules: network, Skip: "^TestBuilt$"}, // which reads sources
	{Package: "internal/layer/bpflsm", Modules: network},
	{Package: "internal/layer/cgroupbpf", Modules: network, Programs: []program{{"unshare", "util-linux"}}},
	{
		Package: "internal/layer/luks", Skip: "^TestRefused$",
		Modules:  slices.Concat(network, storage),
		Programs: encryption,
	},
}
