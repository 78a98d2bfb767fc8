// Package wording turns results into words: numbers with their units, and the sentences that say what a result means.
//
// It is the only place that does. Packages that decide (analysis, compare, gate, history, published) hand on typed
// values with their figures, and every output (terminal, Markdown, HTML, figures, and the texts in CSV and JSON) gets
// its words here, so that a quantity reads the same wherever it stands:
//
//   - A unit is chosen by its family: bytes in KiB, MiB, GiB; bits in kbit, Mbit, Gbit; seconds in ns, µs, ms, s. All
//     numbers of one statement stand in one unit.
//   - A number has as many decimals as its interval supports: the first two digits of the uncertainty.
//   - The values of CSV and JSON are no words. They stay plain numbers in the metric's own unit.
//
// Names of arms, cells and metrics come from users and tools. Words are made of them as they are; whoever writes words
// for a terminal, a page or a table makes them safe for it.
package wording
