package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tare/hack/guest/plan"
)

const emulator = "qemu-system-x86_64"

// cmdline has the kernel turn on the security modules that tests need, and end rather than wait
// where it fails.
const cmdline = "console=ttyS0 quiet panic=-1 random.trust_cpu=on lsm=landlock,lockdown,yama,apparmor,bpf apparmor=1"

// Bounds on the guest.
const (
	bootLimit  = 4 * time.Minute  // until it says that it is up
	kvmLimit   = 30 * time.Second // the same, where the processor is a real one
	guestLimit = time.Hour        // beside the limits of its suites
)

// guest is a machine that can be started.
type guest struct {
	kernel, archive, disk string
	console               string // file that its console is written to
}

// errSilent: it did not say that it is up.
var errSilent = errors.New("the guest did not come up")

// boot runs the guest to its end, and hands its events on.
func (g guest) boot(ctx context.Context, accel string, limit time.Duration, event func(plan.Event)) error {
	ctx, cancel := context.WithTimeout(ctx, guestLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, emulator,
		"-accel", accel, "-cpu", "max", "-smp", "2", "-m", "2048", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", g.kernel, "-initrd", g.archive, "-append", cmdline,
		"-drive", "file="+g.disk+",format=raw,if=virtio,cache=unsafe",
		"-serial", "file:"+g.console, "-serial", "stdio")
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	silent := time.AfterFunc(limit, cancel)
	up, done := false, false
	listen(out, func(e plan.Event) {
		silent.Stop()
		up, done = true, done || e.Done
		event(e)
	})
	err = cmd.Wait()
	switch {
	case done:
		return nil
	case !up:
		return fmt.Errorf("%w by %s: %v: %s\n%s", errSilent, accel, err, lastLines(&said, 5), g.tail())
	}
	return fmt.Errorf("the guest has ended before its tests have: %v: %s\n%s", err, lastLines(&said, 5), g.tail())
}

// tail is the end of what the console has shown.
func (g guest) tail() string {
	text, err := os.ReadFile(g.console)
	if err != nil {
		return err.Error()
	}
	return lastLines(bytes.NewBuffer(text), 25)
}

// listen reads events until the line ends. What is none is left out.
func listen(line io.Reader, event func(plan.Event)) {
	for r := bufio.NewReader(line); ; {
		text, err := r.ReadBytes('\n')
		var e plan.Event
		if json.Unmarshal(text, &e) == nil {
			event(e)
		}
		if err != nil {
			return
		}
	}
}

// bootBy boots by the means asked for. With auto that is KVM where this machine has it and the guest
// comes up by it, as it may not within a virtual machine; else the processor is played.
func (g guest) bootBy(ctx context.Context, accel string, event func(plan.Event)) error {
	if accel != "auto" {
		return g.boot(ctx, accel, bootLimit, event)
	}
	if f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
		f.Close()
		err := g.boot(ctx, "kvm", kvmLimit, event)
		if !errors.Is(err, errSilent) || ctx.Err() != nil {
			return err
		}
		say("it does not come up by KVM: the processor is played, which takes longer")
	}
	return g.boot(ctx, "tcg", bootLimit, event)
}

// place gives the files of a guest in a directory.
func place(dir string) guest { return guest{console: filepath.Join(dir, "console")} }
