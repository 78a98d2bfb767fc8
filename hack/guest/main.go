// Command guest runs tests that need what this machine's kernel lacks or refuses, such as dm-crypt
// and AppArmor, in a virtual machine with the cloud kernel of Debian. It is about whether things work:
// a processor that is played says nothing about time.
//
//	go run . [-accel auto|tcg|kvm] [-run TESTS] [-v] [PACKAGE...]
//
// Packages are those of suites.go; all if none are given. The kernel is downloaded and not
// installed. The exit status is 0 if all tests have passed; a test that is skipped has failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	accel := flag.String("accel", "auto", "how the guest's processor is made: kvm, tcg (played), or auto, which tries both")
	test := flag.String("run", "", "only tests whose names match this regular expression")
	all := flag.Bool("v", false, "show all that tests print, as it comes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *accel, *test, *all, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}

var begun = time.Now()

// say says how far it is.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0f s  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
}

func run(ctx context.Context, accel, test string, all bool, packages []string) error {
	chosen, err := choose(packages)
	if err != nil {
		return err
	}
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return err
	}
	for name, from := range map[string]string{emulator: "qemu-system-x86", "mkfs.ext4": "e2fsprogs", "dpkg-deb": "dpkg"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: apt-get install --no-install-recommends %s", err, from)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	k, err := fetch(ctx, filepath.Join(cache, "tare", "guest"))
	if err != nil {
		return fmt.Errorf("the kernel: %w", err)
	}
	scratch, err := os.MkdirTemp("", "tare-guest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	g := place(scratch)
	g.kernel = k.image
	b := &builder{source: source(), scratch: scratch, kernel: k}
	if g.archive, err = b.build(ctx, chosen, test); err != nil {
		return err
	}
	if g.disk, err = makeDisk(ctx, scratch); err != nil {
		return err
	}
	say("starting the guest")
	r := newResults(os.Stdout, chosen)
	r.all = all
	failed := g.bootBy(ctx, accel, r.add)
	if problems := r.problems(); failed != nil || len(problems) > 0 {
		if len(problems) > 0 {
			failed = errors.Join(failed, errors.New(strings.Join(problems, "\n")))
		}
		return fmt.Errorf("%s\n%w", r.count(), failed)
	}
	say("%s", r.count())
	return nil
}

// choose gives the suites of packages.
func choose(packages []string) ([]suite, error) {
	if len(packages) == 0 {
		return suites, nil
	}
	var chosen []suite
	var known []string
	for _, s := range suites {
		known = append(known, s.Package)
	}
	for _, p := range packages {
		i := slices.Index(known, strings.TrimPrefix(strings.TrimSuffix(p, "/"), "./"))
		if i < 0 {
			return nil, fmt.Errorf("%s is none of the packages for the guest: %s", p, strings.Join(known, ", "))
		}
		chosen = append(chosen, suites[i])
	}
	return chosen, nil
}

// source is the root of the sources that this program was compiled from.
func source() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}
