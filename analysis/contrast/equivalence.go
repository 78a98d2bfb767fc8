package contrast

// Inner gives the rules whose interval the two one-sided tests of equivalence rest
// on: both at alpha ask that the interval of confidence 1 − 2 alpha lies within the
// margin, at 95 % that of 90 %.
func (r Rules) Inner() Rules {
	r.Confidence, r.Margin = 1-2*r.Alpha, 0
	return r
}
