package journal

import (
	"slices"

	"tare/mask"
)

// Mask has everything that programs say or are called kept without the secrets that a
// mask knows: raw output, what trials and notes tell. It is called before the first trial.
// Digests are of what is kept.
func (j *Journal) Mask(m *mask.Mask) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mask = m
}

// without takes secrets out of what a trial tells in words of others: proofs, reasons,
// command lines.
func (t *Trial) without(m *mask.Mask) {
	for i := range t.Invalid {
		t.Invalid[i].Detail = m.Text(t.Invalid[i].Detail)
	}
	t.Checks = slices.Clone(t.Checks)
	for i := range t.Checks {
		c := &t.Checks[i]
		c.Name, c.Expected, c.Observed, c.Caveat = m.Text(c.Name), m.Text(c.Expected), m.Text(c.Observed), m.Text(c.Caveat)
	}
	for part, used := range t.Used {
		used.Left = slices.Clone(used.Left)
		for i := range used.Left {
			used.Left[i] = m.Text(used.Left[i])
		}
		t.Used[part] = used
	}
}
