// Package figure draws: overheads with their intervals (Forest), the trials of a
// metric (Boxes, RunChart), a metric against a factor (Lines) and over many runs
// (History), as SVG. A figure is given what it shows, numbers and words alike, and
// knows nothing of runs and verdicts; it escapes every string.
//
// Figures have literal colours as attributes, so that every program that reads SVG
// shows them alike. Attributes give way to any style sheet: the rules of css
// exchange the colours in dark surroundings, by the classes of the elements. Both
// are made from the tables of palette.go.
package figure
