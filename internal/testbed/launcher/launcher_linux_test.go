package launcher

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/test/golden"
)

func TestBuilt(t *testing.T) {
	golden.Built(t, "../../../cmd/launcher/native", "launcher", "build", "launcher.c", "system.h", "launcher-amd64", "launcher-arm64")
	for _, arch := range []string{"amd64", "arm64"} {
		if info, err := os.Stat("../../../cmd/launcher/native/launcher-" + arch); err != nil || info.Size() > 8<<10 {
			t.Errorf("%v, %+v: larger than a few kilobytes", err, info)
		}
	}
}

// start starts a command, which may have launchers.
func start(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	p, err := Prepare(args, os.Environ(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cmd := exec.CommandContext(t.Context(), p.Args[0], p.Args[1:]...)
	cmd.ExtraFiles = p.Files
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	_ = cmd.Run()
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

func TestStarts(t *testing.T) {
	first := uint64(0x7a7e)
	all := Settings{NoNewPrivs: true, Drop: 1 << 20, Seccomp: &Seccomp{Calls: []string{"personality", "acct"}}}
	for _, c := range []struct {
		name      string
		args      []string
		out, said string
		code      int
	}{
		{name: "nothing", args: []string{Settings{}.Argument(), "sh", "-c", "echo $0 $1", "a", "b"}, out: "a b\n"},
		{name: "by its path", args: []string{Settings{}.Argument(), "/bin/echo", "x"}, out: "x\n"},
		{name: "one behind another", args: []string{Settings{}.Argument(), "env", "A=1", Settings{NoNewPrivs: true}.Argument(), "sh", "-c", "echo $A; grep NoNewPrivs /proc/self/status"}, out: "1\nNoNewPrivs:\t1\n"},
		{name: "settings", args: []string{all.Argument(), "grep", "-E", "NoNewPrivs|Seccomp_filters", "/proc/self/status"}, out: "NoNewPrivs:\t1\nSeccomp_filters:\t1\n"},
		{name: "an argument", args: []string{Settings{Seccomp: &Seccomp{Calls: []string{"getppid"}, First: &first}}.Argument(), "grep", "Seccomp_filters", "/proc/self/status"}, out: "Seccomp_filters:\t1\n"},
		{name: "its exit status", args: []string{Settings{}.Argument(), "sh", "-c", "exit 7"}, code: 7},
		{name: "no such program", args: []string{Settings{}.Argument(), "tare-test-no-such-program"}, said: "tare-launcher: start tare-test-no-such-program: errno 2\n", code: 127},
		{name: "a directory", args: []string{Settings{}.Argument(), "/"}, said: "tare-launcher: start /: errno 13\n", code: 126},
		{name: "no such profile", args: []string{Settings{AppArmor: "tare-test-no-such"}.Argument(), "true"}, said: "tare-launcher: ask for the profile tare-test-no-such", code: 126},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, said, code := start(t, c.args...)
			if out != c.out || !strings.HasPrefix(said, c.said) || (said == "") != (c.said == "") || code != c.code {
				t.Errorf("%q, %q, %d", out, said, code)
			}
		})
	}
}

// The launcher leaves nothing in the program: no descriptor, and no memory.
func TestLeavesNothing(t *testing.T) {
	const look = `ls /proc/self/fd | tr '\n' ' '; grep -c tare-launcher /proc/self/maps`
	want, _, _ := start(t, "sh", "-c", look)
	all := Settings{NoNewPrivs: true, Seccomp: &Seccomp{Calls: []string{"acct"}}}
	if _, err := (&Landlock{Rules: 8}).ruleset(); err == nil {
		all.Landlock = &Landlock{Rules: 8}
	}
	if got, said, _ := start(t, all.Argument(), Settings{}.Argument(), "sh", "-c", look); got != want || said != "" {
		t.Errorf("%q, without a launcher %q; %s", got, want, said)
	}
}

func TestUserNamespace(t *testing.T) {
	out, said, code := start(t, Settings{UserNamespace: true}.Argument(), "sh", "-c", "id -u; cat /proc/self/uid_map | tr -s ' '")
	if code == 126 && strings.Contains(said, "errno 1\n") {
		t.Skip("this system refuses user namespaces: " + said)
	}
	if want := fmt.Sprintf("0\n 0 %d 1\n", os.Geteuid()); out != want {
		t.Errorf("%q, %q", out, said)
	}
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{prefix + "{", "true"}, "settings of the launcher: unexpected end of JSON input"},
		{[]string{Settings{Seccomp: &Seccomp{Calls: []string{"nosuchcall"}}}.Argument(), "true"}, "a filter of system calls: "},
		{[]string{Settings{Landlock: &Landlock{Rules: 3, Writable: []string{"/tare-test-no-such"}}}.Argument(), "true"}, "a ruleset of Landlock: "},
		{[]string{Settings{Bundle: &Bundle{Directory: "/tmp"}}.Argument(), Settings{}.Argument(), "true"}, "a container cannot receive descriptors"},
	} {
		if _, err := Prepare(c.args, nil, "", nil); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}

// Count counts the launchers in a command.
func TestCount(t *testing.T) {
	if n := Count([]string{Settings{}.Argument(), "nice", Settings{}.Argument(), "true"}); n != 2 {
		t.Error(n)
	}
}
