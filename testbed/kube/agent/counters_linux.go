package agent

import (
	"fmt"
	"os"
	"time"

	"tare/machine"
	"tare/machine/proc"
	"tare/testbed/kube/agent/cgroup"
)

// podsLimit is how many pods one Question may name.
const podsLimit = 10000

// counters reads what a Question asks for. Cgroups are found first, so that all
// counters are of one moment as nearly as can be.
func (s *Server) counters(q *Question) (Counters, error) {
	if q == nil {
		q = &Question{}
	}
	if len(q.Cgroups) > podsLimit {
		return Counters{}, fmt.Errorf("counters: %d pods are asked for, %d at once are the most", len(q.Cgroups), podsLimit)
	}
	for _, uid := range q.Cgroups {
		if !cgroup.ValidUID.MatchString(uid) {
			return Counters{}, fmt.Errorf("counters: %.80q is not the UID of a pod", uid)
		}
	}
	var pods []cgroup.Group
	if q.Root != "" {
		pods = s.pods.Find(q.Root, q.Cgroups)
	}
	root := os.DirFS("/")
	own := cgroup.Own(root, proc.Groups(proc.Below("/")))

	totals, err := machine.ReadTotals("/", time.Now)
	if err != nil {
		return Counters{}, fmt.Errorf("counters: %w", err)
	}
	c := Counters{Totals: totals, BootID: plain(readText(root, "proc/sys/kernel/random/boot_id"))}
	if q.Root != "" {
		c.Grouped = cgroup.Grouped(os.DirFS(q.Root))
	}
	if got, ok := own.Read(); ok {
		c.Own = &got
	}
	for _, g := range pods {
		if got, ok := g.Read(); ok {
			c.Pods = append(c.Pods, got)
		}
	}
	return c, nil
}
