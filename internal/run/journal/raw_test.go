package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/text/mask"
	"tare/internal/workload"
)

var _ workload.Raw = (*raw)(nil)

func TestRawNames(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"iperf3-client.json", "iperf3-client.json"},
		{"../../etc/passwd", "etc_passwd"},
		{"/absolute", "absolute"},
		{"..", "unnamed"},
		{"", "unnamed"},
		{"con", "con_"},
		{"Nul.json", "Nul_.json"},
		{"console", "console"},
		{".hidden", "hidden"},
		{"-rf", "rf"},
		{"a\x00b\nc", "a_b_c"},
		{"seccomp[rules=8]", "seccomp_rules=8"},
		{"größe", "gr_e"},
		{"end.", "end"},
		{strings.Repeat("x", 1000), strings.Repeat("x", maxName)},
	} {
		if got := safeName(c.name); got != c.want {
			t.Errorf("plain(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRawDirectories(t *testing.T) {
	j := create(t)
	dir := func(round, attempt int, arm, cell string) string {
		raw, err := j.Raw(round, attempt, arm, cell)
		if err != nil {
			t.Fatal(err)
		}
		return raw.Dir()
	}
	for _, c := range []struct{ got, want string }{
		{dir(7, 1, "plain", "x"), "raw/007-plain-x"},
		{dir(7, 2, "plain", "x"), "raw/007-plain-x-2"},
		{dir(7, 1, "plain", "x-2"), "raw/007-plain-x-2+2"}, // another trial, whose name was plain before
		{dir(7, 1, "../..", "../../x"), "raw/007-unnamed-x"},
		{dir(1234, 1, "a[n=1]", "b"), "raw/1234-a_n=1-b"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestRawOfInterruptedTrial repeats a trial whose first attempt was killed: the outputs of both attempts must not
// mix.
func TestRawOfInterruptedTrial(t *testing.T) {
	j := create(t)
	raw, err := j.Raw(1, 1, "plain", "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Create("leftover"); err != nil {
		t.Fatal(err)
	}
	must(t, j.Close())
	if j, err = Resume(j.Dir()); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if raw, err = j.Raw(1, 1, "plain", "x"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(j.Dir(), raw.Dir()))
	if err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestRawFiles(t *testing.T) {
	j := create(t)
	raw, err := j.Raw(1, 1, "plain", "x")
	if err != nil {
		t.Fatal(err)
	}
	w, err := raw.Create("left-open")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "all of it"); err != nil {
		t.Fatal(err)
	}
	_, err = raw.Create("left-open")
	wantError(t, err, "raw/001-plain-x/left-open is there already")
	tr := trial(1)
	tr.Raw = raw.Dir()
	must(t, j.Append(tr))
	if _, err := w.Write([]byte("more")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("writing after the trial is on record: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(j.Dir(), tr.Raw, "left-open"))
	if string(data) != "all of it" {
		t.Errorf("%q, %v", data, err)
	}
}

// Raw output never contains the run's secrets, in whatever pieces a program writes it. The digest is of the masked
// output.
func TestMasked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	j, err := Create(dir, []byte("x"), nil, plan(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var m mask.Mask
	m.Add("TOKEN", "hunter2-long")
	j.Mask(&m)
	raw, err := j.Raw(1, 1, "plain", "cell")
	if err != nil {
		t.Fatal(err)
	}
	w, err := raw.Create("stdout.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a hunt", "er2-", "long b hunter2-", "lo"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	trial := Trial{Round: 1, Attempt: 1, Cell: "network.tcp", Arm: "plain", Raw: raw.Dir(),
		Invalid:   []Violation{{Rule: "exit-status", Detail: "sh -c hunter2-long: exit status 1"}},
		Checks:    []layer.Check{{Name: "hunter2-long", Expected: "hunter2-long", Observed: `"hunter2-l" and 3 more bytes`, Caveat: "hunter2-long"}},
		Behaviour: workload.Behaviour{experiment.Stderr: {Marks: []string{"no such token: hunter2-long", strings.Repeat("x", 300)}, Runs: 1}},
		Used:      map[string]testbed.Usage{"command": {Left: []string{"sleep hunter2-long"}}}}
	must(t, errors.Join(j.Append(&trial), j.Note("it said hunter2-long"), j.Close()))
	text, err := os.ReadFile(filepath.Join(dir, raw.Dir(), "stdout.txt"))
	if want := "a [masked: TOKEN] b [masked: TOKEN]"; err != nil || string(text) != want {
		t.Errorf("got %q, %v; want %q", text, err, want)
	}
	for _, name := range []string{TrialsFile, NotesFile} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || bytes.Contains(text, []byte("hunter")) || !bytes.Contains(text, []byte("[masked: TOKEN]")) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if _, v, err := Verify(dir); err != nil || v.Files != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}
