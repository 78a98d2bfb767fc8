package wording

import (
	"fmt"

	"tare/internal/analysis"
)

// Quota says whether an observed component reached its limits: "throttled in 3 % of periods".
func Quota(q *analysis.QuotaSummary) string {
	u := &q.Quota
	switch q.Verdict {
	case analysis.QuotaKilled:
		if u.Kills > 0 {
			return Count(u.Kills, "process", "processes") + " killed for lack of memory"
		}
		return "a container was killed for lack of memory"
	case analysis.QuotaThrottled:
		return fmt.Sprintf("throttled in %s of periods", Share(q.Throttled))
	case analysis.QuotaFull:
		return "memory reached its limit, page cache included"
	case analysis.QuotaNone:
		return "no limit"
	}
	return "within its quota"
}
