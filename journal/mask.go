package journal

import (
	"slices"

	"tare/mask"
	"tare/safetext"
)

// Mask has everything that programs say or are called kept without the secrets that a
// mask knows: raw output, what trials and notes tell. It is called before the first trial.
// Digests are of what is kept.
func (j *Journal) Mask(m *mask.Mask) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mask = m
}

// markKept is how many characters of a line that a program printed a trial tells.
const markKept = 200

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
	for a, seen := range t.Behaviour {
		seen.Marks = slices.Clone(seen.Marks)
		for i := range seen.Marks {
			seen.Marks[i] = safetext.Head(m.Text(seen.Marks[i]), markKept)
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
