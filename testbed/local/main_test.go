package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/testbed"
)

// roleVariable makes this test program play one of the roles below instead of
// running its tests.
const roleVariable = "TARE_LOCAL_TEST"

func TestMain(m *testing.M) {
	roles := map[string]func() (int, error){
		"enter":   enterRole,
		"signals": signalsRole,
		"victim":  victimRole,
		"clean":   cleanRole,
	}
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	status, err := role()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// enterRole enters a user namespace and there runs the tests, or plays the role
// that is named after a dash.
func enterRole() (int, error) {
	next, args := "tests", os.Args[1:]
	if len(args) > 0 && strings.HasPrefix(args[0], "role=") {
		next, args = strings.TrimPrefix(args[0], "role="), args[1:]
	}
	if err := os.Setenv(roleVariable, next); err != nil {
		return 0, err
	}
	return EnterUserNamespace(args...)
}

// signalsRole prints the signals that it gets and ends with 7 at SIGTERM.
func signalsRole() (int, error) {
	got := make(chan os.Signal, 16)
	signal.Notify(got, syscall.SIGUSR1, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("ready", os.Getpid())
	for s := range got {
		fmt.Println(s)
		if s == syscall.SIGTERM {
			return 7, nil
		}
	}
	return 0, nil
}

// cleanRole is what "tare clean" does.
func cleanRole() (int, error) {
	_, err := Clean(context.Background())
	return 0, err
}

// victim is what a victimRole says of itself.
type victim struct {
	Commands   []int    // processes that it started
	Left       []int    // processes that these put into the background
	Namespaces []uint64 // inodes of its network namespaces
}

// victimRole holds an open site in which commands run, says so, and waits to be
// killed, or ends in the way that its argument names.
func victimRole() (int, error) {
	bed, err := New()
	if err != nil {
		return 0, err
	}
	if os.Args[1] == "guarded" {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		if err := bed.Guard("env", roleVariable+"=clean", self); err != nil {
			return 0, err
		}
	}
	s, err := bed.Open(context.Background(), "victim", true, link(1e9, 1500))
	if err != nil {
		return 0, err
	}
	v, err := s.(*network).inhabit()
	if err != nil {
		return 0, err
	}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 0, err
	}
	var order string
	_, _ = fmt.Scanln(&order)
	switch order {
	case "panic":
		go func() { panic("as ordered") }()
		select {}
	case "close":
		return 0, bed.Close()
	}
	return 0, nil
}

// inhabit starts a command at every place of the site.
func (n *network) inhabit() (victim, error) {
	var v victim
	for place, thread := range n.places {
		r, w, err := os.Pipe()
		if err != nil {
			return v, err
		}
		cmd := shell(leaveBehind + "sleep 1000")
		cmd.Stdout = w
		p, err := n.Start(context.Background(), place, cmd)
		if err != nil {
			return v, err
		}
		v.Commands = append(v.Commands, p.(*process).pid)
		for range 4 {
			var pid int
			if _, err := fmt.Fscanln(r, &pid); err != nil {
				return v, err
			}
			v.Left = append(v.Left, pid)
		}
		if place == testbed.Host {
			continue
		}
		err = thread.do(func() error {
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
