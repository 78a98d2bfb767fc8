package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/test/hinttest"
)

// TestHintsHelp follows the hints for files with usual mistakes, one after the other, and checks that the
// corrected file is accepted.
func TestHintsHelp(t *testing.T) {
	file := func(testbed, layers, workload string) string {
		return "apiVersion: tare/v1alpha1\nkind: Experiment\nname: x\ntestbed: " + testbed +
			"\narms:\n- name: plain\n- name: other\n  layers: " + layers + "\nworkloads:\n- " + workload + "\n"
	}
	const layer, workload = "[env: {set: {A: b}}]", "command: {run: [x]}"
	for _, c := range []struct{ text, want string }{
		{file("local", layer, "command: {run: echo hi}"), "run: [echo, hi]"},
		{file("local", layer, "command: {run: 'A=1 ./b.sh \"x y\" | tail'}"), `run: [sh, -c, "A=1 ./b.sh \"x y\" | tail"]`},
		{file("local", layer, "command: {run: ./b.sh $(TARE_PORT) $TOKEN, in: client-pod, timeout: 3 s}"), "run: [./b.sh, $(TARE_PORT), $TOKEN], in: client-pod, timeout: 3s"},
		{file("local", layer, "command: {run: [x], ok: 0, expect: 1 M}"), "ok: [0], expect: 1m"},
		{file("local", layer, "storage: {blockSize: 4k, size: 1g, duration: 5S}"), "blockSize: 4KiB, size: 1GiB, duration: 5s"},
		{file("local", layer, "storage: {blocksize: [4K, 64kb]}"), "blockSize: [4KiB, 64kB]"},
		{file("local", layer, "netwrk: {protocols: TCP, path: pod-to-svc}"), "network: {protocols: tcp, paths: pod-to-service}"},
		{file("lokal", layer, workload), "testbed: local"},
		{file("local", "gvisor", workload), "layers: [gvisor]"},
		{file("local", "[gvisr]", workload), "layers: [gvisor]"},
		{file("{local: {link: {rate: 1G}}}", layer, workload), "rate: 1Gbit"},
		{file("kubernetes", "[pod: {runtimeClas: gvisor}]", workload), "runtimeClass: gvisor"},
		{file("kubernetes", "[pod: {sidecars: istio-proxy, labels: {a: b}}]", workload), "sidecars: [istio-proxy]"},
		{file("local", layer, workload) + "limits: {foreignCPU: 10}\ndesign: {equivalence: 2}\n", "equivalence: 2%"},
	} {
		text := c.text
		for range 8 {
			_, err := experiment.Load("x.yaml", []byte(text), catalog.Kinds())
			if err == nil {
				break
			}
			var problems *experiment.Problems
			if !errors.As(err, &problems) {
				t.Fatal(err)
			}
			before := text
			for _, p := range *problems {
				ofKey := strings.HasPrefix(p.Message, "unknown field") || strings.HasPrefix(p.Message, "unknown workload") || strings.HasPrefix(p.Message, "unknown layer")
				if followed, was := hinttest.Follow(text, p.Line, p.Column, p.Hint, ofKey); was != "" {
					text = followed
					break
				}
			}
			if text == before {
				t.Errorf("%s\nno hint says what to write:\n%v", text, err)
				break
			}
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("following the hints leads to\n%s\nwithout %s", text, c.want)
		}
	}
}

// TestWhatIsNoKindIsFound checks that the error for an unknown layer or workload names a kind or an example
// that has it.
func TestWhatIsNoKindIsFound(t *testing.T) {
	for word, want := range map[string]string{
		"layer kata":             "tare list examples kubernetes/kata.yaml shows how kata is measured",
		"layer istio":            "tare list examples istio-dataplane.yaml shows how istio is measured",
		"layer runtimeClassName": "runtimeClass is a parameter of the layer pod: write pod: {runtimeClass: …}",
		"workload fio":           "the workload storage runs fio",
		"workload iperf3":        "the workload network runs iperf3",
		"workload unixbench":     "tare list examples unixbench.yaml shows how unixbench is measured",
		"layer nonsense":         "", "layer a": "", "testbed local": "",
	} {
		what, name, _ := strings.Cut(word, " ")
		if got := catalog.Kinds().Elsewhere(what, name); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
