// Package report shows results to people: a run, a comparison of runs, a history,
// a gate, the published table. Each of these views builds one document; the
// writers in report/text, report/markdown and report/html show any document, and
// report/figure draws its pictures. For programs there are CSV, JSON and JUnit
// XML.
//
// A result goes one way: what analysis (or compare, gate, history, published)
// has judged → the view → wording for its numbers and sentences → a document → a
// writer. A newcomer starts at Run in run.go, reads document/document.go, and has
// seen the pattern of the others: compare.go, history.go, gate.go and
// published.go; csv.go is for programs. sheet.go arranges a run's comparisons for
// reading.
//
// Nothing here runs anything, reads a file or decides: every number and every
// verdict is given. What is left to decide is order and emphasis, and these
// follow from the method:
//
//   - The answer comes first, in sentences, with what could be seen beside
//     what was seen.
//   - The control (a second copy of the baseline) stands next to every result,
//     because it shows what a difference of nothing looks like here.
//   - Headline metrics are kept apart from exploratory ones, which are not
//     corrected for how many there are.
//   - No verdict is told by colour alone; every arm has a shape of its own.
//
// Strings in a result come from users, tools and the machine. Views make each of
// them safe before it becomes part of a sentence, so that one cannot swallow the
// others; writers do so again, and escape.
package report
