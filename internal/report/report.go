// Package report shows results to people: a run, a comparison of runs, a history, a gate, the published
// table. Each of these views builds one document. The writers in internal/report/text, internal/report/markdown,
// internal/report/html and internal/report/tex show any document, and internal/report/figure draws its pictures. For programs there
// are CSV, JSON and JUnit XML.
//
// A result passes through these steps: the judgement of analysis (or compare, gate, history, published) →
// the view → wording for its numbers and sentences → a document → a writer. Start reading at Run in
// run.go and at document/document.go. The other views follow the same pattern: compare.go, history.go,
// gate.go and published.go. sheet.go arranges a run's comparisons for reading.
//
// This package runs nothing, reads no file and decides nothing: all numbers and verdicts are given. It
// chooses order and emphasis, by these rules of the method:
//
//   - The answer comes first, in sentences, with the smallest effect that the run could have found.
//   - The control (a second copy of the baseline) stands next to every result, because it shows the size of
//     differences without a cause.
//   - Headline metrics are separate from exploratory ones, which are not corrected for their number.
//   - Verdicts never rely on colour alone. Every arm has its own shape.
//
// Strings in a result come from users, tools and the machine. Views make each of them safe before it
// becomes part of a sentence, so that it cannot change the rest. Writers do so again, and escape.
package report
