package machine

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadTotals(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	stat := file("cpu  100 20 30 4000 5 6 7 8 0 0\ncpu0 50 10 15 2000 2 3 3 4 0 0\ncpu1 50 10 15 2000 3 3 4 4 0 0\nintr 1\n")
	at := time.Unix(1000, 0)
	full := Totals{Time: at, CPUs: 2, Busy: 1630 * time.Millisecond, Interrupts: 130 * time.Millisecond, Steal: 80 * time.Millisecond, Waiting: -1}
	told := full
	told.Waiting, told.Load = 12345*time.Microsecond, 0.5
	exact := full
	exact.Busy = 1723456789 + full.Interrupts
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  Totals
		err   string
	}{
		"all": {fstest.MapFS{
			"proc/stat": stat, "proc/loadavg": file("0.50 1.00 2.00 1/100 42\n"),
			"proc/pressure/cpu": file("some avg10=0.00 avg60=0.00 avg300=0.00 total=12345\n"),
		}, told, ""},
		"no pressure":         {fstest.MapFS{"proc/stat": stat}, full, ""},
		"the scheduler tells": {fstest.MapFS{"proc/stat": stat, "sys/fs/cgroup/cpuacct/release_agent": file("\n"), "sys/fs/cgroup/cpuacct/cpuacct.usage": file("1723456789\n")}, exact, ""},
		"a container":         {fstest.MapFS{"proc/stat": stat, "sys/fs/cgroup/cpuacct/cpuacct.usage": file("1723456789\n")}, full, ""},
		"nothing":             {fstest.MapFS{}, Totals{}, "cannot read the CPU times: open proc/stat: no such file or directory"},
		"nonsense":            {fstest.MapFS{"proc/stat": file("hello\n")}, Totals{}, "/proc/stat: no line that begins with cpu"},
	} {
		got, err := ReadTotals(tree(t, c.files), func() time.Time { return at })
		if text := ""; err != nil || c.err != "" {
			if err != nil {
				text = err.Error()
			}
			if text != c.err {
				t.Errorf("%s: error %q, want %q", name, text, c.err)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
