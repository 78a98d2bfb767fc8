package report

import (
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/report/document"
	"tare/internal/report/text"
	comparing "tare/internal/runs/compare"
	"tare/internal/runs/published"
	"tare/internal/text/safetext"
)

// view is a view of a result: its document with everything that it can show, and
// its lines for programs.
type view struct {
	document *document.Document
	csv      func(io.Writer) error
	lines    int // of CSV, but for the head
}

func viewOfRun(r *analysis.Run, o RunOptions) view {
	o.All = true
	return view{Run(r, o), func(w io.Writer) error { return CSV(w, r) }, len(r.Comparisons) + len(r.Controls)}
}

func viewOfComparison(r *comparing.Result) view {
	return view{Compare(r, CompareOptions{All: true}), func(w io.Writer) error { return CompareCSV(w, r) }, len(r.Changes) + len(r.Floors) + len(r.Levels)}
}

func viewOfTable(t *published.Table) view {
	v := view{document: Published(t, AsTheyVary), csv: func(w io.Writer) error { return PublishedCSV(w, t) }}
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			v.lines += len(m.Arms) + len(m.Differences)
		}
	}
	return v
}

// views are those of results of all kinds.
func views(t testing.TB) map[string]view {
	list := map[string]view{}
	for name, r := range fixtures() {
		list["run "+name] = viewOfRun(r, RunOptions{})
	}
	for name, h := range histories() {
		v := view{document: History(h, HistoryOptions{All: true}), csv: func(w io.Writer) error { return HistoryCSV(w, h) }}
		for _, e := range h.Experiments {
			for _, s := range e.Series {
				v.lines += len(s.Points)
			}
		}
		list["history "+name] = v
	}
	for name, r := range gateFixtures() {
		list["gate "+name] = view{Gate(r, "javascript:alert(1)"), func(w io.Writer) error { return GateCSV(w, r) }, len(r.Cases)}
	}
	for n := 2; n <= 4; n++ {
		list["comparison "+strconv.Itoa(n)] = viewOfComparison(someComparison(t, n))
	}
	_, table := someTable(t, published.Options{})
	list["published"] = viewOfTable(table)
	for name, v := range hostileViews(t) {
		list["hostile "+name] = v
	}
	return list
}

// hostileViews are those of results with hostile strings wherever one can be.
func hostileViews(t testing.TB) map[string]view {
	h, n := hostileHistory(), 0
	imported := importedRun("")
	imported.Comparisons[0].WithInvalid = &analysis.Alternative{Comparison: imported.Comparisons[0]}
	poison(reflect.ValueOf(imported), &n)
	comparison := someComparison(t, 3)
	comparison.Warnings, comparison.Unknown = []analysis.Finding{analysis.Remark{Text: "odd"}}, []analysis.Finding{analysis.Remark{Text: "odd"}}
	comparison.Apart = []comparing.NotShared{{What: "arm", Name: "x", Runs: []int{1}, Other: []int{2}}}
	poison(reflect.ValueOf(comparison), &n)
	r, table := someTable(t, published.Options{})
	poison(reflect.ValueOf(table), &n)
	return map[string]view{
		"run":        viewOfRun(poisoned(), RunOptions{Experiment: []byte("name: " + venom), Command: venom}),
		"import":     viewOfRun(imported, RunOptions{}),
		"comparison": viewOfComparison(comparison),
		"history":    {History(h, HistoryOptions{All: true}), func(w io.Writer) error { return HistoryCSV(w, h) }, 4 * 40},
		"table":      viewOfTable(table),
		"with table": viewOfRun(r, RunOptions{Published: table}),
	}
}

func TestTextFitsTheWidth(t *testing.T) {
	for name, v := range views(t) {
		for _, width := range []int{40, 60, 80, 100, 140, 200} {
			t.Run(name, func(t *testing.T) { fits(t, asText(t, v.document, text.Options{Width: width}), width) })
		}
	}
}

// Whatever the strings of a result are, every form of it is harmless: nothing in
// it acts on a terminal, is markup of its own or is run by a spreadsheet.
func TestFormsAreHarmless(t *testing.T) {
	for name, v := range views(t) {
		page, md, shown := asPage(t, v.document), asMarkdown(t, v.document), asText(t, v.document, text.Options{})
		table := asCSV(t, func(w io.Writer, v view) error { return v.csv(w) }, v)
		for form, s := range map[string]string{"page": page, "text": shown, "markdown": md, "csv": table} {
			if safe := safetext.Lines(s); safe != s {
				t.Fatalf("%s, %s is not safe: %q, not %q", name, form, s, safe)
			}
		}
		checkPage(t, name, page)
		checkMarkdown(t, md)
		if strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Contains(md, "](<javascript") {
			t.Errorf("%s: markup of the result gets through", name)
		}
		if strings.HasPrefix(name, "hostile") && !strings.Contains(page, "&lt;script&gt;alert(1)") {
			t.Errorf("%s: the page does not show the hostile text at all", name)
		}
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil || len(rows) != 1+v.lines {
			t.Errorf("%s: %d lines of CSV, want a head and %d: %v", name, len(rows), v.lines, err)
		}
		for _, row := range rows {
			for _, field := range row {
				if _, err := strconv.ParseFloat(field, 64); err != nil && field != "" && strings.ContainsRune("=+-@", rune(field[0])) {
					t.Errorf("%s: a spreadsheet would run %q", name, field)
				}
			}
		}
	}
}

// Pictures are no document; they are drawn of the same strings.
func TestHostilePicturesStayText(t *testing.T) {
	r := poisoned()
	for name, svg := range map[string]string{"figure": Figure(r), "boxes": boxesOf(r, r.Cells[0].ID, r.Cells[0].Metrics[0].Metric.Name),
		"run chart": runChartOf(r, r.Cells[0].ID, r.Cells[0].Metrics[0].Metric.Name)} {
		if err := wellFormed(svg); err != nil || svg == "" || strings.Contains(svg, "<script") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// broken is a writer on a full disk.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorsAreReported(t *testing.T) {
	for name, v := range views(t) {
		if err := v.csv(broken{}); err == nil || err.Error() != "write csv: no space left on device" {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := wireguard().run()
	if err := JSON(broken{}, r); err == nil || err.Error() != "write json: no space left on device" {
		t.Error(err)
	}
}
