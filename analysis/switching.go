package analysis

// switching warns of layers that were turned on and off for everyone between
// trials: a trial that follows finds a cluster that has just been changed. Trials
// of the arm that has such a layer nearly always do, others only sometimes.
func (t *table) switching() []Warning {
	after, valid, turned := make([]int, len(t.plan.Arms)), make([]int, len(t.plan.Arms)), false
	for c := range t.slots {
		for a := range t.slots[c] {
			for _, s := range t.slots[c][a] {
				if s.valid == nil {
					continue
				}
				valid[a]++
				if s.valid.Switched {
					after[a]++
					turned = true
				}
			}
		}
	}
	if !turned {
		return nil
	}
	var arms []SwitchedArm
	for a, arm := range t.plan.Arms {
		arms = append(arms, SwitchedArm{Arm: arm.Name, After: after[a], Valid: valid[a]})
	}
	return []Warning{{Finding: Switching{arms}}}
}
