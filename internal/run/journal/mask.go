package journal

import (
	"slices"

	"tare/internal/text/mask"
	"tare/internal/text/safetext"
)

// Mask sets the secrets to remove from raw output, trials and notes. It must be called before the first
// trial. Recorded digests are of the masked files.
func (j *Journal) Mask(m *mask.Mask) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mask = m
}

// shownLength is the length, in characters, to which a trial shortens a line printed by a program.
const shownLength = 200

// mask masks secrets in the trial's texts: proofs, reasons and command lines.
func (t *Trial) mask(m *mask.Mask) {
	for i := range t.Invalid {
		t.Invalid[i].Detail = m.Text(t.Invalid[i].Detail)
	}
	t.Checks = slices.Clone(t.Checks)
	for i := range t.Checks {
		c := &t.Checks[i]
		c.Name, c.Expected, c.Observed, c.Caveat = m.Text(c.Name), m.Text(c.Expected), m.Text(c.Observed), m.Text(c.Caveat)
	}
	for a, seen := range t.Behaviour {
		seen.Marks = slices.Clone(seen.Marks)
		for i := range seen.Marks {
			seen.Marks[i] = safetext.Head(m.Text(seen.Marks[i]), shownLength)
		}
		t.Behaviour[a] = seen
	}
	for part, used := range t.Used {
		used.Left = slices.Clone(used.Left)
		for i := range used.Left {
			used.Left[i] = m.Text(used.Left[i])
		}
		t.Used[part] = used
	}
}
