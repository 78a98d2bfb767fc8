// Package report shows an analysed run to people: as terminal text (Text), as
// Markdown, as one self-contained HTML page, its overheads as an SVG picture
// (Figure), and as CSV and JSON for programs.
//
// It runs nothing, reads no file and decides nothing: every number and every
// verdict comes from the analysis.Run that it is given. What is left to decide
// here is order and emphasis, and these follow from the method:
//
//   - The answer comes first, in sentences, with what could not be seen beside
//     what was seen.
//   - The control (a second copy of the baseline) stands next to every result,
//     because it shows what a difference of nothing looks like here.
//   - Headline metrics are kept apart from exploratory ones, which are not
//     corrected for how many there are.
//   - No verdict is told by colour alone; every arm has a shape of its own.
//
// The way through the files: sheet.go arranges a run's comparisons for reading,
// sentences.go says the results in words, run.go, history.go, compare.go and gate*.go
// build documents, which the writers of packages text, markdown and html show, and
// figures.go hands package figure what is to be drawn.
//
// Strings in a run come from users, tools and the machine. All of them pass
// through plain, which removes control characters and terminal sequences, and
// then through the escaping of the format.
package report
