package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/analysis"
	"tare/machine"
	"tare/safetext"
	"tare/wording"
)

type pageProof struct {
	Arm, Layer, Name, Expected, Example, Made string
	Passed, Failed                            int
}

type pageTrial struct {
	Seq, Round, Attempt                int
	File, Cell, Arm, Rule, Detail, Raw string // File of an imported trial
}

type pageTool struct{ Name, Version, Path string }

type pageDetail struct {
	Title string
	Rows  []entry
}

type pageArm struct {
	Name, Role string
	Layers     []string
}

// evidence fills the proofs and the invalid trials.
func (p *page) evidence(s *sheet, o HTMLOptions) {
	var once, each []string
	for _, c := range s.proofs() {
		made, list := "in every trial", &each
		if c.Once {
			made, list = "once, at set-up", &once
		}
		p.Proofs = append(p.Proofs, pageProof{plain(c.Arm), plain(c.Layer), plain(c.Name), brief(c.Expected), brief(c.Example),
			made, c.Passed, c.Failed})
		if name := plain(c.Name); !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	p.ProofNote = proofNote(once, each)
	p.InvalidNote = s.invalidNote()
	for _, rule := range rules(s.run.Trials.ByRule) {
		p.Rules = append(p.Rules, entry{plain(rule), wording.Count(s.run.Trials.ByRule[rule], "trial", "trials")})
	}
	p.InvalidsOpen = len(s.run.Invalids) <= 10
	for i, t := range s.run.Invalids {
		if i == mostInvalids {
			p.MoreInvalids = fmt.Sprintf("%s more; trials.jsonl has all.", wording.Count(len(s.run.Invalids)-i, "trial", "trials"))
			break
		}
		row := pageTrial{Seq: t.Seq, Round: t.Round, Attempt: t.Attempt, Cell: plain(t.Cell), Arm: plain(t.Arm)}
		var broken, details []string
		for _, v := range t.Invalid {
			broken, details = append(broken, plain(v.Rule)), append(details, brief(v.Detail))
		}
		row.File, _ = reasonOf(t)
		row.Rule, row.Detail = strings.Join(broken, ", "), strings.Join(details, "; ")
		if t.Raw != "" {
			if row.Raw = link(o.base(), t.Raw); s.run.Plan.Import == nil { // a directory
				row.Raw = link(o.base(), t.Raw+"/")
			}
		}
		p.Invalids = append(p.Invalids, row)
	}
}

// proofs are the run's checks, one for each arm, layer and name: a check whose
// expectation depends on what the trial did (bytes through a tunnel) shows the
// first.
func (s *sheet) proofs() []analysis.ProofSummary {
	type key struct {
		arm, layer, name string
		once             bool
	}
	var list []analysis.ProofSummary
	at := map[key]int{}
	varies := map[int]bool{}
	for _, p := range s.run.Proofs {
		k := key{p.Arm, p.Layer, p.Name, p.Once}
		i, ok := at[k]
		if !ok {
			at[k] = len(list)
			list = append(list, p)
			continue
		}
		list[i].Passed += p.Passed
		list[i].Failed += p.Failed
		varies[i] = varies[i] || p.Expected != list[i].Expected
	}
	for i := range varies {
		if varies[i] {
			list[i].Expected = brief(list[i].Expected) + " (differs by trial)"
		}
	}
	return list
}

// proofNote says which checks were made how often.
func proofNote(once, each []string) string {
	var parts []string
	if len(each) > 0 {
		parts = append(parts, "Made in every trial: "+enumerate(each, 12, "checks")+".")
	}
	if len(once) > 0 {
		parts = append(parts, "Made once, when the layer was set up: "+enumerate(once, 12, "checks")+".")
	}
	return strings.Join(parts, " ")
}

// invalidNote says how many trials were invalid and what became of them.
func (s *sheet) invalidNote() string {
	n := len(s.run.Invalids)
	if n == 0 {
		if s.imported() {
			return "No trial broke a rule."
		}
		return "No trial broke a rule of the experiment."
	}
	if s.imported() {
		return wording.Count(n, "trial broke", "trials broke") + " a rule and gave no data. Rules never look at whether a value is high or low."
	}
	text := fmt.Sprintf("%s a rule that was fixed before the run, and gave no data. An invalid trial is repeated within its round, up to %s in all",
		wording.Count(n, "trial broke", "trials broke"), wording.Count(s.plan.Attempts, "attempt", "attempts"))
	if s.run.Trials.Lost > 0 {
		return text + fmt.Sprintf("; %s stayed invalid.", wording.Count(s.run.Trials.Lost, "planned trial", "planned trials"))
	}
	return text + "; none stayed without a valid value."
}

// surroundings fills the machine, the harness and how to repeat the run.
func (p *page) surroundings(s *sheet, o HTMLOptions) {
	if e := s.run.Environment; e != nil {
		p.Machine, p.MachineNotes, p.Clusters = machineRows(e), plainAll(e.Remarks()), s.clusters()
		for _, t := range e.Tools {
			p.Tools = append(p.Tools, pageTool{plain(t.Name), plain(t.Version), plain(t.Path)})
		}
		p.MachineDetails = machineDetails(e)
		p.Footer = "Written by Tare " + plain(e.TareVersion)
	}
	p.Footer = cmp.Or(p.Footer, "Written by Tare")
	if !o.Generated.IsZero() {
		p.Footer += " on " + o.Generated.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.Footer += ". This page needs no network and no scripts."
	h := s.run.Harness
	p.Harness = fmt.Sprintf("Outside trials Tare took %s of the run's wall clock, and during trials its own process used %s of one CPU core.",
		wording.Share(h.WallShare), wording.Share(h.CPUShare))
	p.Experiment = safetext.Lines(string(bytes.TrimRight(o.Experiment, "\n")))
	p.Command = cmp.Or(safetext.Lines(o.Command), "tare run experiment.yaml")
	p.RepeatNote = fmt.Sprintf("The order of trials is drawn from the seed. With seed: %d under design in the experiment file, the same order is run again.", s.plan.Seed)
	for _, a := range s.plan.Arms {
		arm := pageArm{Name: plain(a.Name), Role: string(a.Role)}
		for _, l := range a.Layers {
			arm.Layers = append(arm.Layers, plain(l.Kind)+" "+compact(l.Config))
		}
		p.Arms = append(p.Arms, arm)
	}
	for _, name := range []string{"experiment.yaml", "plan.json", "environment.json", "trials.jsonl", "raw/"} {
		p.Links = append(p.Links, entry{name, link(o.base(), name)})
	}
}

// compact writes parameters on one line.
func compact(config any) string {
	if config == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(config); err != nil {
		return "(parameters that cannot be written: " + plain(err.Error()) + ")"
	}
	return plain(b.String())
}

// machineRows are the environment's single facts; empty ones are left out.
func machineRows(e *machine.Environment) []entry {
	cores := fmt.Sprintf("%d online, %d usable", e.CPU.Online, e.CPU.Usable)
	if e.Cgroup.CPUs > 0 {
		cores += fmt.Sprintf(", limited to %s cores by the cgroup", wording.Number(e.Cgroup.CPUs, 3))
	}
	memory := ""
	if e.Memory > 0 {
		memory = wording.Value(float64(e.Memory), "B")
	}
	if e.Cgroup.Memory > 0 {
		memory += ", limited to " + wording.Value(float64(e.Cgroup.Memory), "B") + " by the cgroup"
	}
	rights := "unprivileged"
	if e.Root {
		rights = "root"
	}
	if e.UserNS {
		rights += ", in a user namespace of its own"
	}
	all := []entry{
		{"System", e.OS}, {"Kernel", strings.TrimSpace(e.Kernel + " " + e.KernelBuild)}, {"Architecture", e.Architecture},
		{"Processor", e.CPU.Model}, {"Cores", cores}, {"Frequency governor", e.CPU.Governor}, {"Turbo", e.CPU.Turbo},
		{"SMT", e.CPU.SMT}, {"Microcode", e.CPU.Microcode}, {"Memory", memory}, {"Clock source", e.ClockSource},
		{"Load at the start", fmt.Sprintf("%.2f, %.2f, %.2f (1, 5, 15 minutes)", e.Load[0], e.Load[1], e.Load[2])},
		{"Hypervisor", e.Hypervisor}, {"Cloud instance", e.Instance}, {"Confidential VM", e.Confidential},
		{"Rights", rights}, {"Tare", strings.TrimSpace(e.TareVersion + " " + e.Go)},
	}
	var list []entry
	for _, row := range all {
		if v := plain(row.Value); v != "" {
			list = append(list, entry{row.Key, v})
		}
	}
	return list
}

// machineDetails are the environment's long parts.
func machineDetails(e *machine.Environment) []pageDetail {
	var list []pageDetail
	add := func(title string, m map[string]string) {
		d := pageDetail{Title: title}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			d.Rows = append(d.Rows, entry{plain(k), plain(m[k])})
		}
		if d.Rows != nil {
			list = append(list, d)
		}
	}
	add("CPU vulnerabilities and mitigations", e.Mitigations)
	add("Cipher drivers", e.CipherDriver)
	if len(e.CPU.Flags) > 0 {
		list = append(list, pageDetail{Title: "CPU flags", Rows: []entry{{"Flags", plain(strings.Join(e.CPU.Flags, " "))}}})
	}
	return list
}
