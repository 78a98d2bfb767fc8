package labels

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/run/journal"
)

func TestMetric(t *testing.T) {
	for _, tt := range []struct{ kind, name, want string }{
		{"http", "latency-p50", "median latency"},
		{"http", "latency-p99.9", "p99.9 latency"},
		{"http", "request-cpu", "CPU time per request"},
		{"http", "request-cpu-client", "CPU time per request, client"},
		{"http", "request-memory-server", "memory, server"},
		{"http", "rate", "request rate"},
		{"churn", "rate", "object rate"},
		{"http", "send-lag-p99", "p99 send lag"},
		{"network", "tcp-bandwidth", "TCP bandwidth"},
		{"network", "tcp-cpu-machine", "TCP CPU time per Gbit, machine"},
		{"network", "tcp-memory-client", "TCP memory, client"},
		{"network", "udp-loss", "UDP loss"},
		{"network", "cpu-istiod", "CPU of istiod"},
		{"dns", "memory-kube-dns", "memory of kube-dns"},
		{"storage", "buffered-read-iops", "buffered read IOPS"},
		{"storage", "buffered-write-sync-p99", "p99 buffered write sync latency"},
		{"storage", "read-total-latency", "read total latency"},
		{"storage", "write-cpu-fio", "write CPU time per GB, fio"},
		{"startup", "start-mean", "mean start time"},
		{"startup", "start-cpu", "CPU time per start"},
		{"xds", "push-p50", "median push time"},
		{"vault", "sign-latency-p99", "p99 sign latency"},
		{"dns", "answers-aaaa", "answers AAAA"},
		{"command", "run-cpu-server", "CPU time per run, server"},
		{"command", "wall-clock", "wall-clock time"},
		{"command", "my-own-p50", "my-own-p50"},
		{"table", "latency-p50", "latency-p50"},
		{"", "cpu", "cpu"},
		{"http", "\x1b[31mred", "red"},
	} {
		if got := Metric(tt.kind, tt.name); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.name, tt.kind, got, tt.want)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, tt := range []struct{ kind, factor, value, want string }{
		{"", "rules", "64", "64 rules"},
		{"", "rules", "1", "1 rule"},
		{"", "policies", "1", "1 policy"},
		{"", "seccomp.rules", "8", "8 rules of seccomp"},
		{"", "match", "prefix", "match prefix"},
		{"http", "rate", "50/s", "50 requests/s"},
		{"dns", "rate", "2000/s", "2000 queries/s"},
		{"command", "rate", "50/s", "50/s"},
		{"network", "rate", "1.25Gbit", "1.25 Gbit"},
		{"network", "mtu", "1500", "MTU 1500"},
		{"network", "path", "pod-to-pod", "pod to pod"},
		{"network", "protocol", "tcp", "TCP"},
		{"storage", "blockSize", "4KiB", "4 KiB blocks"},
		{"xds", "churn", "25%", "25 % churn"},
		{"dns", "ttl", "500ms", "TTL 500 ms"},
	} {
		if got := Levels(tt.kind, []factor.Level{{Factor: tt.factor, Value: tt.value}}, ", "); got != tt.want {
			t.Errorf("%s=%s of %s: %q, want %q", tt.factor, tt.value, tt.kind, got, tt.want)
		}
	}
}

func plan() *experiment.Plan {
	cell := func(id, workload, kind string, metric experiment.Metric, levels ...factor.Level) experiment.Cell {
		return experiment.Cell{ID: id, Workload: workload, Kind: kind, Levels: levels, Metrics: []experiment.Metric{metric}}
	}
	rate := experiment.Metric{Name: "rate", Unit: "1/s"}
	return &experiment.Plan{
		Arms: []experiment.PlannedArm{{Name: "plain", Label: "No layer", Role: experiment.Baseline},
			{Name: "seccomp[rules=64]", Levels: []factor.Level{{Factor: "rules", Value: "64"}}, Role: experiment.Treatment}},
		Cells: []experiment.Cell{
			cell("http.rate=50_s.mtu=1500", "http", "http", rate, factor.Level{Factor: "rate", Value: "50/s"}, factor.Level{Factor: "mtu", Value: "1500"}),
			cell("http.rate=99_s.mtu=1500", "http", "http", rate, factor.Level{Factor: "rate", Value: "99/s"}, factor.Level{Factor: "mtu", Value: "1500"}),
			cell("lookups", "lookups", "command", experiment.Metric{Name: "rate", Unit: "1/s", Label: "Lookups"})},
	}
}

// TestShown checks what people see of a run, and that the run itself keeps its identifiers.
func TestShown(t *testing.T) {
	r := &analysis.Run{Plan: plan(), Invalids: []journal.Trial{{Cell: "lookups", Arm: "seccomp[rules=64]"}},
		Comparisons: []analysis.Comparison{{Cell: "http.rate=50_s.mtu=1500", Arm: "seccomp[rules=64]", Metric: plan().Cells[0].Metrics[0],
			Warnings: []analysis.Finding{analysis.ControlDiffers{Metric: plan().Cells[0].Metrics[0]}}}},
		Warnings: []analysis.Warning{{Cell: "http.rate=99_s.mtu=1500", Arm: "plain", Metric: "latency-p99"}}}
	s := Shown(r, r.Plan)
	c := s.Comparisons[0]
	finding := c.Warnings[0].(analysis.ControlDiffers)
	for _, tt := range [][2]string{
		{c.Arm, "seccomp with 64 rules"}, {c.Cell, "http, 50 requests/s"}, {c.Metric.Unit, "requests/s"}, {c.Metric.Name, "request rate"}, {finding.Metric.Unit, "requests/s"},
		{s.Warnings[0].Arm, "No layer"}, {s.Warnings[0].Cell, "http, 99 requests/s"}, {s.Warnings[0].Metric, "p99 latency"},
		{s.Plan.Arms[0].Name, "No layer"}, {s.Plan.Cells[2].ID, "lookups"}, {s.Plan.Cells[2].Metrics[0].Name, "Lookups"}, {s.Plan.Cells[2].Metrics[0].Unit, "1/s"},
		{s.Invalids[0].Arm, "seccomp with 64 rules"}, {s.Plan.Cells[0].ID, c.Cell},
		{r.Comparisons[0].Arm, "seccomp[rules=64]"}, {r.Plan.Cells[0].ID, "http.rate=50_s.mtu=1500"}, {r.Plan.Arms[0].Name, "plain"},
	} {
		if tt[0] != tt[1] {
			t.Errorf("%q, want %q", tt[0], tt[1])
		}
	}
}

// TestNoTwoShareALabel keeps the names of arms and metrics to which a file gives one label, also in two runs.
func TestNoTwoShareALabel(t *testing.T) {
	arm := func(name string) *experiment.Plan {
		return &experiment.Plan{Arms: []experiment.PlannedArm{{Name: name, Label: "Same"}}, Cells: []experiment.Cell{{ID: name, Workload: name, Kind: "command",
			Metrics: []experiment.Metric{{Name: "m-" + name, Label: "Same"}}}}}
	}
	a, b := arm("a"), arm("b")
	s := Shown(b, a, b)
	if s.Arms[0].Name != "b" || s.Cells[0].Metrics[0].Name != "m-b" {
		t.Errorf("arm %q, metric %q", s.Arms[0].Name, s.Cells[0].Metrics[0].Name)
	}
}

// TestNoTwoCellsShareALabel keeps the identifiers of cells that levels do not tell apart.
func TestNoTwoCellsShareALabel(t *testing.T) {
	p := &experiment.Plan{Cells: []experiment.Cell{{ID: "network.a", Workload: "network", Kind: "network"}, {ID: "network.b", Workload: "network", Kind: "network"}}}
	if s := Shown(p, p); s.Cells[0].ID == s.Cells[1].ID {
		t.Errorf("both cells are %q", s.Cells[0].ID)
	}
}
