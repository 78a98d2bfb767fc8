package fio

import (
	"strconv"
	"strings"

	"tare/toolformat/fio"
)

// groups says which jobs of a report belong together.
type groups struct {
	together map[float64]int // jobs that ran at the same time, by group; 0: not told
	clones   map[clone]int
	cells    map[string]int // how often a name was given to a cell
}

// clone is what the clones of a job have in common.
type clone struct {
	group float64
	name  string
}

// allClients is the name of the entry that sums up those of several servers.
const allClients = "All clients"

// group looks at the jobs as a whole. fio starts all jobs of a group at once, and
// begins a new group at stonewall. Where a job waits for a time or for another one,
// nothing is said.
func group(r *fio.Report) *groups {
	g := &groups{together: map[float64]int{}, clones: map[clone]int{}, cells: map[string]int{}}
	waits := map[float64]bool{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		g.clones[clone{j.Group, j.Name}]++
		if j.Name != allClients {
			g.together[j.Group]++
		}
		if r.Option(j, "startdelay") != "" || r.Option(j, "wait_for") != "" {
			waits[j.Group] = true
		}
	}
	for group := range waits {
		g.together[group] = 0
	}
	return g
}

// alone says that no other job of the group has the job's name.
func (g *groups) alone(j *fio.Job) bool { return g.clones[clone{j.Group, j.Name}] == 1 }

// cell names the cell of a job, as no other of the report is named.
func (g *groups) cell(j *fio.Job) string {
	name := j.Name
	if strings.TrimSpace(name) == "" {
		name = "job"
	}
	for {
		g.cells[name]++
		n := g.cells[name]
		if n == 1 {
			return name
		}
		name += "-" + strconv.Itoa(n)
	}
}
