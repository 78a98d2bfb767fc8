// Package wording turns results into words: numbers with their units, and sentences that state what a
// result means.
//
// No other package does. Packages that decide (analysis, compare, gate, history, published) return typed
// values with their figures. Every output (terminal, Markdown, HTML, figures, and the texts in CSV and
// JSON) gets its words here. A quantity therefore reads the same in every output:
//
//   - A unit is chosen from its family: bytes in KiB, MiB, GiB; bits in kbit, Mbit, Gbit; seconds in ns, µs, ms, s.
//     All numbers of one statement share one unit.
//   - A number has as many decimals as its interval supports: the first two digits of the uncertainty.
//   - Numbers in CSV and JSON stay plain numbers in the metric's own unit.
//
// Names of arms, cells and metrics come from users and tools. This package copies them into its texts as
// they are. The writers of a terminal, a page or a table escape them.
package wording
