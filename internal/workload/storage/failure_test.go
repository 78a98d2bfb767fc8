package storage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/workload"
)

// script is a site on which fio is a shell script. The variable JOB has the name of the job: check, layout, mark,
// ramp or fio.
type script struct {
	directory
	text string
}

func (s script) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	job := "fio"
	for arg, name := range map[string]string{"--verify=pattern": "check", "--refill_buffers=1": "layout", "--end_fsync=1": "mark"} {
		if slices.Contains(cmd.Args, arg) && job != "layout" {
			job = name
		}
	}
	cmd.Env = append(cmd.Env, "JOB="+job)
	cmd.Args = []string{"sh", "-c", s.text}
	return local.Here.Start(ctx, testbed.Host, cmd)
}

func TestFailures(t *testing.T) {
	const laid = `[ $JOB = fio ] || { echo '{"fio version": "fio-3.33", "jobs": [{}]}'; exit 0; }; `
	report := func(job string) string { return laid + `echo '{"fio version": "fio-3.33", "jobs": [` + job + `]}'` }
	const read = `"read": {"total_ios": 10, "io_bytes": 40960, "bw_bytes": 40960, "runtime": 1000, "clat_ns": {"mean": 1, "N": 10}, "lat_ns": {"mean": 1}}`
	tests := []struct {
		name, script, want string
		ends               bool // the failure ends the run
	}{
		{"no O_DIRECT", `echo 'fio: looks like your file system does not support direct=1/buffered=0' >&2; echo 'fio: destination does not support O_DIRECT' >&2; exit 1`,
			"the volume refuses O_DIRECT: fio (layout): exit status 1: fio: looks like your file system does not support direct=1/buffered=0; fio: destination does not support O_DIRECT (direct: false measures it through the page cache, under metrics of other names)", true},
		{"full", `echo 'fio: io_u error on file x: No space left on device: write offset=1, buflen=65536' >&2; exit 1`,
			"the volume is full: fio (layout): exit status 1: fio: io_u error on file x: No space left on device: write offset=1, buflen=65536 (lower size, or give a larger volume)", true},
		{"not ours", `echo 'fio: pid=0, err=13/file:filesetup.c:174, func=open, error=Permission denied' >&2; exit 1`,
			"fio may not write to the volume: fio (layout): exit status 1: fio: pid=0, err=13/file:filesetup.c:174, func=open, error=Permission denied (the volume's directory or device must belong to the user or group that the pod runs as: many drivers see to that by fsGroup, hostPath volumes do not)", true},
		{"no io_uring", `echo "fio: your kernel doesn't support io_uring" >&2; echo 'fio: pid=35, err=38/file:engines/io_uring.c:998, func=io_queue_init, error=Function not implemented' >&2; exit 1`,
			"the system refuses io_uring: fio (layout): exit status 1: fio: your kernel doesn't support io_uring; fio: pid=35, err=38/file:engines/io_uring.c:998, func=io_queue_init, error=Function not implemented (engine: libaio, or a seccomp profile that allows io_uring; gVisor has none)", true},
		{"no room for libaio", `echo 'fio: pid=7, err=11/file:engines/libaio.c:430, func=io_queue_init, error=Resource temporarily unavailable' >&2; exit 1`,
			"the system has no room for more asynchronous I/O: fio (layout): exit status 1: fio: pid=7, err=11/file:engines/libaio.c:430, func=io_queue_init, error=Resource temporarily unavailable (raise sysctl fs.aio-max-nr on the node, or lower ioDepth or jobs)", true},
		{"no such CPU here", `echo 'fio: pid=7, err=22/file:backend.c:1716, func=cpu_set_affinity, error=Invalid argument'; echo '{"jobs": []}'; exit 1`,
			"fio may not use the CPUs of cpusAllowed: fio (layout): exit status 1: fio: pid=7, err=22/file:backend.c:1716, func=cpu_set_affinity, error=Invalid argument (" + otherCPUs + ")", true},
		{"no such CPU at all", `echo 'fio: CPU 5 too large (max=1)' >&2; echo 'fio: failed parsing cpus_allowed=5' >&2; exit 1`,
			"the CPUs of cpusAllowed do not exist: fio (layout): exit status 1: fio: CPU 5 too large (max=1); fio: failed parsing cpus_allowed=5 (" + otherCPUs + ")", true},
		{"killed in the layout", `[ $JOB = check ] && exit 1; kill -9 $$`, "exit-status: fio (layout): signal: killed", false},
		{"layout too short", `[ $JOB = check ] && exit 1; echo '{"jobs": [{"write": {"io_bytes": 4096}}]}'`, "parse: fio (layout) did not report 17MiB written", false},
		{"writes are lost", `case $JOB in check) exit 1;; layout) echo '{"jobs": [{"write": {"io_bytes": 17825792}}]}';; *) echo '{"jobs": [{}]}';; esac`,
			"exit-status: the volume does not return the data that was written to it: VOLUME/tare-storage-16MiB", false},
		{"hostile", laid + `printf 'a\nb\n\033[31mred\342\200\256\n%.0s' 1 2 3 >&2; exit 3`,
			"exit-status: fio (fio): exit status 3: red\\u202e; a; b; red\\u202e", false},
		{"endless", laid + `exec yes 0123456789012345678901234567890123456789012345678901234567890123456789 | head -c 17000000`, "parse: fio (fio) wrote more than 16777216 bytes", false},
		{"no output", laid + `true`, "parse: fio (fio): the file is empty", false},
		{"no JSON", laid + `echo hello`, "parse: fio (fio): no report in JSON: fio writes one with --output-format=json or json+, unless it fails before the first job", false},
		{"no job", report(""), "parse: fio: 0 jobs are reported, and one was run", false},
		{"two jobs", report("{}, {}"), "parse: fio: 2 jobs are reported, and one was run", false},
		{"no read", report("{}"), "parse: fio: the report has no read", false},
		{"an error with status 0", report(`{"error": 5, ` + read + `}`), "exit-status: fio reports that the job failed with error 5 (input/output error)", false},
		{"short", report(`{"read": {"total_ios": 1, "runtime": 900, "bw_bytes": 1}}`), "parse: fio: it did I/O for 0.9 s instead of 1 s", false},
		{"negative", report(`{"read": {"total_ios": 1, "runtime": 1000, "io_bytes": -1, "bw_bytes": 1}}`), "parse: fio: io_bytes is -1", false},
		{"too old", strings.ReplaceAll(report(`{`+read+`}`), "fio-3.33", "fio-3.28"), "fio at the volume is version 3.28; 3.33 or later is needed", true},
		{"no version", strings.ReplaceAll(report(`{`+read+`}`), "fio-3.33", "\\u001b"), `parse: fio: it reports "\x1b" as its version`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := run(t.Context(), short(randomRead), script{"VOLUME", test.script}, &memory{})
			var invalid *workload.Invalid
			if err == nil || err.Error() != test.want || errors.As(err, &invalid) == test.ends {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := run(ctx, short(read), script{"v", "exec sleep 60"}, &memory{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestTooLong(t *testing.T) {
	c := short(read)
	tr, err := c.begin(&workload.Trial{Site: script{"v", "exec sleep 60"}, Raw: &memory{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tr.run(t.Context(), job{name: "fio", limit: 10 * time.Millisecond})
	if want := "timeout: fio (fio) was not done after 10ms"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNoVolume(t *testing.T) {
	_, err := short(read).Prepare(t.Context(), &workload.Trial{Site: noVolume{}, Raw: &memory{}})
	if err == nil || err.Error() != "the site has no volume to measure" {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = short(read).Prepare(t.Context(), &workload.Trial{Site: directory("/v"), Raw: &memory{}})
	if err == nil || !strings.Contains(err.Error(), "install it with: apt-get install fio") {
		t.Error(err)
	}
}

type noVolume struct{}

func (noVolume) Start(context.Context, testbed.Place, testbed.Command) (testbed.Process, error) {
	return nil, errors.New("nothing is to be started")
}
