package report

import (
	"testing"

	"tare/internal/analysis"
	"tare/internal/testbed"
)

func TestQuotas(t *testing.T) {
	r := wireguard().run()
	limited := testbed.Quota{CPU: 0.2, Periods: 100, Throttled: 3, Memory: 100 << 20, Peak: 60 << 20}
	r.Quotas = []analysis.QuotaSummary{
		{Component: "varmor-agent", Arm: "plain", Quota: testbed.Quota{Memory: 100 << 20, Killed: true, Restarts: 1}, Verdict: analysis.QuotaKilled},
		{Component: "varmor-agent", Arm: "wireguard", Cell: "network.tcp.pod-to-pod", Trials: 12, Quota: limited, Throttled: 0.03, Verdict: analysis.QuotaThrottled},
		{Component: "varmor-manager", Arm: "plain", Cell: "network.tcp.pod-to-pod", Trials: 12, Verdict: analysis.QuotaNone},
	}
	page := render(t, r, RunOptions{})
	checkPage(t, "quotas", page)
	for name, text := range map[string]string{"page": page, "markdown": asMarkdown(t, Run(r, RunOptions{}))} {
		says(t, name, text, "Quotas of observed components", "before the first trial", "a container was killed for lack of memory", "throttled in", "200 millicores", "no limit")
	}
}
