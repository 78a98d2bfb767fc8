package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// set writes the memory of a cgroup of version 2, without inactive pages.
func set(t *testing.T, root, group string, bytes int) {
	t.Helper()
	dir := filepath.Join(root, group)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cpu.stat": "usage_usec 1\n", "memory.current": fmt.Sprintln(bytes)} {
		// The file is renamed into place, so that a reader never sees a half of it.
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// The peak is that of the pod's memory between two requests, without the memory of the excluded containers.
func TestFollow(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	pod := "kubepods/pod" + uid1
	set(t, root, pod, 5000)
	set(t, root, pod+"/proxy", 1000)
	s := &Server{}
	ask := func(of *serverSession, q CountersRequest) int64 {
		t.Helper()
		q.Root = root
		var c Counters
		if err := of.follow(&q, &c); err != nil {
			t.Fatal(err)
		}
		return c.Peak
	}
	of := &serverSession{server: s, follows: map[string]*follower{}, timer: time.NewTimer(time.Hour)}
	follow := &Follow{Name: "1", Pod: uid1, Sidecars: []string{"proxy"}}
	ask(of, CountersRequest{Follow: follow})
	of.follows["1"].sample()
	set(t, root, pod, 9000)
	set(t, root, pod+"/proxy", 2000)
	of.follows["1"].sample()
	set(t, root, pod, 3000)
	ask(of, CountersRequest{Follow: follow}) // a repeated request does not begin anew
	for range 2 {                            // a repeated request gets the same response
		if got := ask(of, CountersRequest{Followed: "1"}); got != 7000 {
			t.Errorf("peak of %d bytes, want 9000 without the 2000 of the proxy", got)
		}
	}
	select {
	case <-of.follows["1"].stop:
	default:
		t.Error("it is still looked at")
	}
	for what, q := range map[string]CountersRequest{
		"not known": {Followed: "9"},
		"no pod":    {Follow: &Follow{Name: "2", Pod: uid2}},
		"nothing":   {},
	} {
		if got := ask(of, q); got != 0 {
			t.Errorf("%s: %d bytes", what, got)
		}
	}
	ask(of, CountersRequest{Follow: &Follow{Name: "3", Pod: uid1}})
	third := of.follows["3"]
	of.close()
	select {
	case <-third.stop:
	default:
		t.Error("it is looked at after the end of the session")
	}
	for text, q := range map[string]CountersRequest{
		`counters: "../x" is not the UID of a pod`:                     {Follow: &Follow{Name: "4", Pod: "../x"}},
		`counters: "a b" is not a valid name for a peak`:               {Follow: &Follow{Name: "a b", Pod: uid1}},
		"counters: the request names 101 sidecars; the maximum is 100": {Follow: &Follow{Name: "5", Pod: uid1, Sidecars: make([]string, 101)}},
	} {
		var c Counters
		if err := (&serverSession{server: s, follows: map[string]*follower{}}).follow(&q, &c); err == nil || err.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
	var c Counters
	if err := of.follow(&CountersRequest{Follow: follow}, &c); err == nil || err.Error() != "counters: the session has ended" {
		t.Errorf("after the end: %v", err)
	}
}
