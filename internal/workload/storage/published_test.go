package storage

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/workload"
)

// notPassed lists options of the published file that Tare does not pass to fio, with their values, and the reasons.
var notPassed = map[string]string{
	"stonewall": "",    // a trial runs one job
	"ramp_time": "10s", // the warm-up is a run of its own, of the same length, so that its CPU time is not counted
}

// added lists options that Tare passes and the published file lacks. They do not change the load, with the exceptions
// named here.
var added = []string{
	"output-format", "eta", "percentile_list", "clocksource", "name", "filename", "offset", "numjobs", "continue_on_error", "softrandommap",
	"readonly", "allow_file_create", "fallocate",
	"overwrite",              // writes go to blocks that were written before
	"randrepeat", "randseed", // offsets differ between rounds
}

// written maps texts of the published file to the texts that Tare passes.
var written = map[string]string{"10Gi": "10737418240", "60s": "60000ms", "4k": "4096", "1024k": "1048576"}

// TestPublished compares the options that fio gets with profile: constellation with the published file, job by job.
func TestPublished(t *testing.T) {
	jobs := sections(t, filepath.Join("testdata", "constellation-fio.ini"))
	if len(jobs) != 5 {
		t.Fatalf("%d sections, want global and four jobs", len(jobs))
	}
	global := jobs["global"]
	delete(jobs, "global")
	for name, own := range jobs {
		want := maps.Clone(global)
		maps.Copy(want, own)
		c := New().(*Config)
		c.Profile = constellation
		c.fill(func(string) bool { return false })
		if !slices.Contains(c.Operations, operation(want["rw"])) {
			t.Errorf("%s: the profile has no %s", name, want["rw"])
		}
		c.Operations = factor.Of(operation(want["rw"]))
		size := quantity.Size(4 << 10)
		if want["bs"] == "1024k" {
			size = 1 << 20
		}
		if !slices.Contains(c.BlockSize, size) {
			t.Errorf("%s: the profile has no blocks of %v", name, size)
		}
		c.BlockSize = factor.Of(size)
		if ramp := c.Ramp.String(); ramp != want["ramp_time"] {
			t.Errorf("%s: the warm-up takes %s", name, ramp)
		}
		if errs := c.validate(); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		on, err := c.begin(&workload.Trial{Site: directory("/v"), Raw: &memory{}, Round: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, arg := range on.arguments(job{args: on.load("measure", c.Duration.Std(), 0)})[1:] {
			option, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			got[option] = value
		}
		for _, option := range added {
			if _, published := want[option]; published {
				t.Errorf("%s: the published file has %s", name, option)
			}
			delete(got, option)
		}
		for option, value := range notPassed {
			if was, published := want[option]; !published || was != value {
				t.Errorf("%s: the published file has %s=%s", name, option, was)
			}
			delete(want, option)
		}
		for option, value := range want {
			if text, other := written[value]; other {
				want[option] = text
			}
			if value == "1" { // --time_based is the same as --time_based=1
				if _, flag := got[option]; flag && got[option] == "" {
					got[option] = "1"
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: published (-) and Tare's (+) options: %s", name, diff)
		}
	}
}

// sections reads a job file of fio: options by section.
func sections(t *testing.T, name string) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	list, in := map[string]map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case line[0] == '[':
			in = strings.Trim(line, "[]")
			list[in] = map[string]string{}
		default:
			option, value, _ := strings.Cut(line, "=")
			list[in][option] = value
		}
	}
	return list
}
