package contrast

// Scaled gives the values of both arms on the scale on which they are taken to differ
// by a shift, the contrast.
func (d *Data) Scaled() (base, arm []float64) { return d.samples() }

// Derived says that the values stand for their number only, and that the estimate is
// not made from them: that of a change of two overheads without pairs.
func (d *Data) Derived() bool { return d.estimate != nil }
