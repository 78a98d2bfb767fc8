package fio

import (
	"strconv"
	"strings"

	"tare/internal/toolformat/fio"
)

// groups counts the jobs of a report that belong together.
type groups struct {
	together map[float64]int // the number of jobs of each fio group, which run at the same time; 0: unknown
	clones   map[clone]int
	cells    map[string]int // the number of cells with the same name
}

// clone is the group and name that the clones of a job share.
type clone struct {
	group float64
	name  string
}

// allClients is the name of the entry that sums up the entries of several servers.
const allClients = "All clients"

// group counts the jobs by group. fio starts all jobs of a group at once, and begins a new group at a
// stonewall. If a job waits for a time or for another job, the number is unknown.
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

// alone reports whether no other job of the group has the job's name.
func (g *groups) alone(j *fio.Job) bool { return g.clones[clone{j.Group, j.Name}] == 1 }

// cell returns the name of a job's cell, which is unique in the report.
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
