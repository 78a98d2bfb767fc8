package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

const root = "../.."

// The ledger's page is up to date: every figure has a row, each row refers to existing files, pages and runs, and what
// is said to be made is shown by a kept run.
func TestLedger(t *testing.T) {
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

// Every number and chart of the documents is in the data, in its line. The documents lie beside the repository, where
// they are at hand.
func TestSeeds(t *testing.T) {
	l, err := open(root)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{} // by digest
	files, _ := filepath.Glob(filepath.Join(root, "../shared/seeds/*.txt"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		texts["sha256:"+hex.EncodeToString(sum[:])] = string(text)
	}
	if len(texts) == 0 {
		t.Skip("the documents are not at hand in ../shared/seeds")
	}
	for _, d := range l.documents {
		text, ok := texts[d.File]
		if !ok {
			t.Errorf("%s: no document has the digest %s", d.name, d.File)
			continue
		}
		for _, err := range d.against(text) {
			t.Error(err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for line, want := range map[string][]string{
		"(2%--8%) slower, −3":                 {"2%", "8%", "3"},
		"|vCPU |.27 |15,000 |1.34%|":          {".27", "15,000", "1.34%"},
		"Mean:   -0.295851 %  (GKE)":          {"-0.295851"},
		"Min:    +25.710886 % (GKE)":          {"+25.710886"},
		"DC4as_v5, n2d-standard-4, v1.25.7.":  {"4", "5", "2", "4", "1.25.7"},
		"400*32 pods, ~5% in 10 s, [1. Title": {"400", "32", "5%", "10", "1"},
		"no number":                           nil,
	} {
		if diff := cmp.Diff(want, numbers(line)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

// A number or a chart that the data lacks is found, and so is a number that the document lacks.
func TestAgainst(t *testing.T) {
	text := "first 58% of 10\n![chart](x.png)\nlast 7, 7"
	whole := document{name: "d", Figures: []figure{{ID: "a", At: "1", Kind: "result", Numbers: []string{"58%", "10"}}, {ID: "c", At: "2", Kind: "chart"},
		{ID: "b", At: "1-3", Kind: "result", Numbers: []string{"7"}}}, Ignored: []ignored{{"3", "name", []string{"7"}}}}
	for _, c := range []struct {
		change func(*document)
		want   string
	}{
		{func(*document) {}, ""},
		{func(d *document) { d.Ignored = nil }, "d:3: the data lacks 7"},
		{func(d *document) { d.Figures[1].At = "3" }, "d:2: the data lacks the chart or diagram"},
		{func(d *document) { d.Figures[0].Numbers[0] = "85%" }, "d:1: a: the document has no (further) number 85% there\nd:1: the data lacks 58%"},
	} {
		d := whole
		d.Figures = slices.Clone(whole.Figures)
		d.Figures[0].Numbers = slices.Clone(whole.Figures[0].Numbers)
		c.change(&d)
		var got []string
		for _, err := range d.against(text) {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Error(diff)
		}
	}
}

// A mistake in a row is an error, which names the row.
func TestProblems(t *testing.T) {
	const kept = "vault-five-replicas"
	l, err := open(root)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(l.rows)
	good := row{What: "x", Figures: map[string][]string{"constellation-vault": {"runs"}}, State: made, Runs: []string{kept},
		Page: "docs/studies/vault.md#on-a-cluster", Results: []result{{Metric: "latency-mean@total", Arms: []string{"aks", "gke"}}}}
	for _, c := range []struct {
		change func(*row)
		want   string
	}{
		{func(*row) {}, ""},
		{func(r *row) { r.Figures = map[string][]string{"constellation-vault": {"walks"}} }, "no figure constellation-vault/walks"},
		{func(r *row) { r.State = "done" }, `x: state "done" is not known`},
		{func(r *row) { r.State = smaller; r.Factor = "1/10" }, "x: factor and reason belong to the state smaller, both"},
		{func(r *row) { r.State = notHere }, "x: needs belongs to the state not-here"},
		{func(r *row) { r.Runs = nil }, "x: the state made needs a kept run, and rows or results that it shows"},
		{func(r *row) { r.Results = nil }, "x: the state made needs a kept run, and rows or results that it shows"},
		{func(r *row) { r.State = notRun }, "x: the state not-run has no runs, rows or results"},
		{func(r *row) { r.Page = "docs/studies/vault.md#nowhere" }, "docs/studies/vault.md has no heading #nowhere"},
		{func(r *row) { r.File = "examples/none.yaml" }, "examples/none.yaml: no such file"},
		{func(r *row) { r.Runs = []string{"none"} }, "run none: "},
		{func(r *row) { r.Results[0].Arms = []string{"aks", "eks"} }, "no result on latency-mean@total of all arms aks, eks"},
		{func(r *row) { r.Rows = []string{"none"} }, "run " + kept + ": its experiment has no published row none"},
	} {
		r := good
		r.Results = slices.Clone(good.Results)
		c.change(&r)
		l.rows = append(slices.Clone(all), r)
		var got string
		for _, err := range l.problems() {
			got += err.Error() + "\n"
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A published row counts if the run has a result for it, and if its number is one of the document's.
func TestPublished(t *testing.T) {
	row := func(measured *analysis.Interval) *analysis.Run {
		p := analysis.Published{Row: experiment.PublishedRow{ID: "tcp", Difference: factor.Levels[quantity.Amount]{{Limit: quantity.Limit{Number: -58, Unit: "%"}}}}, Cell: "tcp", Arm: "wireguard",
			Against: "plain", Metric: experiment.Metric{Name: "tcp-bandwidth", Unit: "bit/s", Better: experiment.Higher}, Measured: measured, Reading: analysis.Outside}
		if measured == nil {
			p.Reading, p.Reason = "", analysis.TooFewValues{}
		}
		return &analysis.Run{Published: []analysis.PublishedSource{{Rows: []analysis.Published{p}}}}
	}
	here := &analysis.Interval{Point: 0.044, Lo: 0.043, Hi: 0.045}
	for _, c := range []struct {
		run     *analysis.Run
		numbers []string
		want    string
	}{
		{row(here), []string{"10", "58%"}, "tcp-bandwidth, wireguard: published 58 % less; here 4.4 % less [4.3, 4.5]: outside"},
		{row(here), []string{"10", "85%"}, "the published row tcp has the number -58%, and no figure of this row has it"},
		{row(here), nil, "tcp-bandwidth, wireguard: published 58 % less; here 4.4 % less [4.3, 4.5]: outside"},
		{row(nil), []string{"58%"}, "the published row tcp has no result: no reading: "},
		{&analysis.Run{}, nil, "its experiment has no published row tcp"},
	} {
		texts, err := published(c.run, "tcp", c.numbers)
		got := strings.Join(texts, "\n")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
