// Package figure draws SVG pictures: overheads with their intervals (Forest), the trials of a metric (Boxes,
// RunChart), values of arms (Bars), a metric against a factor (Lines) and over many runs (History). Callers
// pass all numbers and words. The package knows nothing of runs and verdicts. It escapes every string.
//
// Elements have literal colours as attributes, so that every SVG viewer shows them. A style sheet overrides
// attributes: the rules of css replace the colours on dark pages, by the classes of the elements. Both are
// generated from the tables of palette.go.
package figure
