package catalog_test

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment"
)

// testbedField matches the field testbed of a file, with all lines below it.
var testbedField = regexp.MustCompile(`(?m)^testbed:.*\n(?:(?:[ \t]+.*)?\n)*`)

// swapped returns an experiment with another testbed and no other change.
func swapped(t *testing.T, text, testbed string) string {
	t.Helper()
	text, _, _ = strings.Cut(text, "\npublished:") // published numbers, at the end of a file, are about cells of its own testbed
	rest := testbedField.ReplaceAllString(text, "")
	if strings.Contains(rest, "\ntestbed:") || !strings.Contains(rest, "\narms:") || !strings.Contains(rest, "\nworkloads:") {
		t.Fatalf("the field testbed cannot be cut out of\n%s", text)
	}
	return rest + "\ntestbed: " + testbed + "\n"
}

// declared returns the declarations of all layers and workloads with default parameters.
func declared() map[string]experiment.Declaration {
	kinds, all := catalog.Kinds(), map[string]experiment.Declaration{}
	for name, make := range kinds.Layers {
		all[name] = make().Declare()
	}
	for name, make := range kinds.Workloads {
		all[name] = make().Declare()
	}
	return all
}

// TestSwap changes the testbed of every example. The example can then be planned, or every error names a layer
// or workload that exists on one testbed alone, with its counterpart on the other.
func TestSwap(t *testing.T) {
	complaint := regexp.MustCompile(`the (?:layer|workload) (\S+) needs the testbed \w+, and this experiment runs on \w+`)
	known := declared()
	for _, name := range exampleNames(t) {
		text, err := examples.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, testbed := range []string{experiment.TestbedLocal, experiment.TestbedKubernetes} {
			if strings.Contains(string(text), "\n  - churn:") && testbed == experiment.TestbedLocal {
				continue // all layers and workloads that the example names need a cluster
			}
			x, err := experiment.Load(exampleFile(name), []byte(swapped(t, string(text), testbed)), catalog.Kinds())
			if err == nil {
				if _, err = experiment.Expand(x, "test"); err != nil {
					t.Errorf("%s on %s: %v", name, testbed, err)
				}
				continue
			}
			for problem := range strings.SplitSeq(err.Error(), "\n"+exampleFile(name)+":") {
				of := complaint.FindStringSubmatch(problem)
				if of == nil || known[of[1]].Elsewhere == "" || !strings.Contains(problem, known[of[1]].Elsewhere) {
					t.Errorf("%s on %s: %s", name, testbed, problem)
				}
			}
		}
	}
}

// TestSwapOfStudies lists the examples that work on both testbeds, and the layers that confine the others to
// one.
func TestSwapOfStudies(t *testing.T) {
	for _, c := range []struct {
		file, testbed string
		lacks         []string // layers that the testbed does not have
	}{
		{file: "sandboxed-service.yaml", testbed: "kubernetes"},
		{file: "sandboxes.yaml", testbed: "kubernetes"},
		{file: "gvisor.yaml", testbed: "kubernetes"},
		{file: "varmor-seccomp.yaml", testbed: "kubernetes"},
		{file: "landlock.yaml", testbed: "kubernetes"},
		{file: "istio-dataplane.yaml", testbed: "kubernetes"},
		{file: "capacity.yaml", testbed: "kubernetes"},
		{file: "mtls.yaml", testbed: "kubernetes"},
		{file: "quickstart.yaml", testbed: "kubernetes"},
		{file: "constellation-network.yaml", testbed: "kubernetes"},
		{file: "defence-in-depth.yaml", testbed: "kubernetes"},
		{file: "quickstart-kubernetes.yaml", testbed: "local", lacks: []string{"pod"}},
		{file: "any-program.yaml", testbed: "kubernetes"},
		{file: "sandbox-startup.yaml", testbed: "kubernetes"},
		{file: "kubernetes/sandbox-startup.yaml", testbed: "local"},
		{file: "syscalls.yaml", testbed: "kubernetes", lacks: []string{"no-new-privs"}},
		{file: "constellation-vault-quick.yaml", testbed: "kubernetes"},
		{file: "constellation-storage.yaml", testbed: "kubernetes", lacks: []string{"luks", "fscrypt", "gocryptfs", "fuse-passthrough"}},
		{file: "kubernetes/storage.yaml", testbed: "local", lacks: []string{"storage-class"}},
	} {
		text, err := examples.Files.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		lacks := slices.DeleteFunc(c.lacks, func(name string) bool { // a layer that the other testbed has by now
			only := catalog.Kinds().Layers[name]().Declare().Needs.Only
			return only == "" || only == c.testbed
		})
		_, err = experiment.Load(exampleFile(c.file), []byte(swapped(t, string(text), c.testbed)), catalog.Kinds())
		if (err == nil) != (len(lacks) == 0) {
			t.Errorf("%s on %s: %v; it lacks %v", c.file, c.testbed, err, lacks)
		}
		for _, name := range lacks {
			if err != nil && !strings.Contains(err.Error(), "the layer "+name+" needs the testbed") {
				t.Errorf("%s on %s: nothing of %s: %v", c.file, c.testbed, name, err)
			}
		}
	}
}

// TestElsewhere checks that a kind that exists on one testbed alone names its counterpart on the other, and
// that the examples in these texts exist.
func TestElsewhere(t *testing.T) {
	named := regexp.MustCompile(`\bkubernetes/[\w-]+\.yaml`)
	for name, d := range declared() {
		if d.Needs.Only != "" && d.Elsewhere == "" {
			t.Errorf("%s exists on %s alone, and nothing says what to use elsewhere", name, d.Needs.Only)
		}
		for _, file := range named.FindAllString(d.Elsewhere, -1) {
			if _, err := fs.Stat(examples.Files, file); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestTestbedTable compares the table in docs/experiment.md with the declarations of layers and workloads. The
// table has a row for each kind, with its form on each testbed, or its counterpart if the testbed does not have
// it.
func TestTestbedTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/experiment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(page), "\n### On both testbeds\n")
	part, _, _ = strings.Cut(part, "\n## ")
	if !found {
		t.Fatal("docs/experiment.md has no part On both testbeds")
	}
	rows := map[string][]string{}
	for line := range strings.SplitSeq(part, "\n") {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") && len(cells) == 3 {
			rows[strings.Trim(cells[0], "|` ")] = []string{cells[1], strings.TrimSuffix(cells[2], " |")}
		}
	}
	all := declared()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		row, ok := rows[name]
		if !ok {
			t.Errorf("no row of %s", name)
			continue
		}
		delete(rows, name)
		for i, testbed := range []string{experiment.TestbedLocal, experiment.TestbedKubernetes} {
			d := all[name]
			switch there := d.Needs.Only == "" || d.Needs.Only == testbed; {
			case there && (strings.HasPrefix(row[i], "–") || row[i] == ""):
				t.Errorf("%s exists on %s, and the table says %q", name, testbed, row[i])
			case !there && row[i] != "– "+d.Elsewhere:
				t.Errorf("%s on %s: the table says\n%s\nand its declaration\n– %s", name, testbed, row[i], d.Elsewhere)
			}
		}
	}
	for name := range rows {
		t.Errorf("a row of %s, which is neither a layer nor a workload", name)
	}
}

// exampleNames lists the experiments shipped with Tare.
func exampleNames(t *testing.T) []string {
	t.Helper()
	names, err := examples.Names()
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	return names
}

// exampleFile returns the path of an example. Files that an example names are beside it.
func exampleFile(name string) string { return "../../examples/" + name }
