package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/experiment"
	"tare/internal/test/apart"
	"tare/internal/testbed"
)

// roleVariable makes this test program play one of the roles below instead of
// running its tests.
const roleVariable = "TARE_LOCAL_TEST"

func TestMain(m *testing.M) {
	roles := map[string]func() error{
		"enter":     enterRole,
		"signals":   signalsRole,
		"victim":    victimRole,
		"clean":     cleanRole,
		"addresses": addressesRole,
	}
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		apart.Rerun()
		os.Exit(m.Run())
	}
	var exit exitStatus
	err := role()
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit))
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// exitStatus is an error that stands for an exit status.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// enterRole enters a user namespace. It runs the tests there, or plays the role that is named after a dash.
func enterRole() error {
	next, args := "tests", os.Args[1:]
	if len(args) > 0 && strings.HasPrefix(args[0], "role=") {
		next, args = strings.TrimPrefix(args[0], "role="), args[1:]
	}
	if err := os.Setenv(roleVariable, next); err != nil {
		return err
	}
	status, err := EnterUserNamespace(args...)
	if err == nil && status != 0 {
		return exitStatus(status)
	}
	return err
}

// signalsRole prints the signals that it receives, and exits with status 7 at SIGTERM.
func signalsRole() error {
	got := make(chan os.Signal, 16)
	signal.Notify(got, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("ready", os.Getpid())
	for s := range got {
		fmt.Println(s)
		if s == syscall.SIGTERM {
			return exitStatus(7)
		}
	}
	return nil
}

// addressesRole prints the addresses of this machine, or of the network namespace that it is in.
func addressesRole() error {
	addresses, err := net.InterfaceAddrs()
	fmt.Println(addresses)
	return err
}

// cleanRole does the work of "tare clean".
func cleanRole() error {
	_, err := Clean(context.Background())
	_, more := CleanTemporary()
	return errors.Join(err, more)
}

// victim is the report that a victimRole prints about itself.
type victim struct {
	Commands   []int    // processes that it started
	Left       []int    // processes that these processes have put into the background
	Namespaces []uint64 // inodes of its network namespaces
	Volume     string   // directory of its volume; "": no volume
}

// victimRole holds an open site in which commands run, and reports this. It then waits to be killed, or ends in the
// way that its argument names.
func victimRole() error {
	bed, err := New()
	if err != nil {
		return err
	}
	if os.Args[1] == "guarded" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		Guard("env", roleVariable+"=clean", self)
	}
	needs := experiment.Needs{Network: true, Members: 2, MemberVolume: 1 << 20}
	if os.Args[1] == "volume" {
		needs = experiment.Needs{Volume: &experiment.Volume{Size: testVolume}}
	}
	s, err := bed.Open(context.Background(), testbed.Request{Name: "victim", Needs: needs, Level: link(1e9, 1500)})
	if err != nil {
		return err
	}
	var v victim
	if volume, ok := s.(volumeSite); ok {
		v, err = volume.useVolume()
	} else {
		v, err = s.(*network).inhabit()
	}
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return err
	}
	var order string
	_, _ = fmt.Scanln(&order)
	switch order {
	case "panic":
		go func() { panic("as ordered") }()
		select {}
	case "close":
		return bed.Close()
	}
	return nil
}

// useVolume makes the volume, and starts a command that uses it, with further commands in the background.
func (s volumeSite) useVolume() (victim, error) {
	v := victim{Volume: s.dir}
	if err := s.Ready(context.Background()); err != nil {
		return v, err
	}
	err := v.occupy(s, testbed.ClientPod, "cd "+s.Volume()+"; exec 3>held; ")
	return v, err
}

// occupy starts a command at a place. The command puts other commands into the background.
func (v *victim) occupy(site testbed.Site, where testbed.Place, first string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	script, ways := staying()
	cmd := shell("echo $$; " + first + script + "sleep 1000")
	cmd.Stdout = w
	if _, err := site.Start(context.Background(), where, cmd); err != nil {
		return err
	}
	var leader int
	if _, err := fmt.Fscanln(r, &leader); err != nil {
		return err
	}
	v.Commands = append(v.Commands, leader)
	for range ways {
		var pid int
		if _, err := fmt.Fscanln(r, &pid); err != nil {
			return err
		}
		v.Left = append(v.Left, pid)
	}
	return nil
}

// inhabit starts a command at every place of the site.
func (n *network) inhabit() (victim, error) {
	var v victim
	for place, thread := range n.places {
		if err := v.occupy(n, place, ""); err != nil {
			return v, err
		}
		if place == testbed.Host {
			continue
		}
		err := thread.do(func() error {
			var ns unix.Stat_t
			err := unix.Stat("/proc/thread-self/ns/net", &ns)
			v.Namespaces = append(v.Namespaces, ns.Ino)
			return err
		})
		if err != nil {
			return v, err
		}
	}
	return v, nil
}
