package bpf

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"

	"tare/internal/layer"
	"tare/internal/test/apart"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/testbed/process"
)

// holder makes this test program attach a filter, print the numbers of its BPF programs, and wait.
const holder = "TARE_TEST_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holder) != "" {
		fmt.Println(hold())
		select {}
	}
	apart.Rerun()
	os.Exit(m.Run())
}

func hold() string {
	bed, err := local.New()
	if err != nil {
		return err.Error()
	}
	site, err := bed.Open(context.Background(), testbed.Request{Name: "test"})
	if err != nil {
		return err.Error()
	}
	group, err := Group(new(layer.Run).At(site), "")
	if err != nil {
		return err.Error()
	}
	four, six, _ := Unused(1, Early)
	l, err := LoadConnect(group, four, six)
	if err == nil {
		err = l.On()
	}
	if err != nil {
		return err.Error()
	}
	var ids []string
	for _, p := range l.collection.Programs {
		info, err := p.Info()
		if err != nil {
			return err.Error()
		}
		id, _ := info.ID()
		ids = append(ids, fmt.Sprint(uint32(id)))
	}
	return "attached " + strings.Join(ids, " ")
}

// A killed Tare leaves nothing behind: the kernel unloads its programs, and tare clean removes the cgroups.
func TestKilled(t *testing.T) {
	all, err := process.OpenScopes()
	if err != nil {
		t.Skip(err)
	}
	defer all.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), holder+"=1")
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	ids := map[ebpf.ProgramID]string{}
	for word := range strings.FieldsSeq(strings.TrimPrefix(line, "attached ")) {
		var id ebpf.ProgramID
		if _, err := fmt.Sscan(word, &id); err == nil {
			ids[id] = word
		}
	}
	found, err := attached(ids, 0)
	if killed := child.Process.Kill(); killed != nil {
		t.Error(killed)
	}
	_ = child.Wait()
	if len(ids) != 2 {
		t.Skip(strings.TrimSpace(line))
	}
	if err != nil || found == "" {
		t.Fatalf("it is not attached: %q, %v", found, err)
	}
	fit.Await(t, "the end of attached programs", func() bool {
		found, err = attached(ids, 0)
		return err != nil || found == ""
	})
	if err != nil {
		t.Error(err)
	}
	space, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	ofChild := func(name string) bool {
		return strings.HasPrefix(name, fmt.Sprintf("tare-run-%d-", child.Process.Pid)) && strings.Contains(name, fmt.Sprintf("-%d-", space.Sys().(*syscall.Stat_t).Ino))
	}
	if left := all.Left(ofChild); len(left) != 3 {
		t.Errorf("it has left %v", left)
	}
	if _, err := local.Clean(t.Context()); err != nil {
		t.Error(err)
	}
	if left := all.Left(ofChild); left != nil {
		t.Errorf("after cleaning there is %v", left)
	}
}
