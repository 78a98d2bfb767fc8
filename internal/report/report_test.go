package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/report/text"
	"tare/internal/report/wording"
	"tare/internal/test/golden"
	"tare/internal/text/safetext"
)

// fixtures are runs of all kinds.
func fixtures() map[string]*analysis.Run {
	return map[string]*analysis.Run{
		"wireguard": spoiled(wireguard().run(), 5), "many": wide(8, 16, 12), "three-rounds": wide(1, 1, 3),
		"extreme": extreme(), "boundless": boundless(), "hollow": hollow(), "empty": {}, "long": long(300),
	}
}

// long is a run of many rounds with a baseline that changes.
func long(rounds int) *analysis.Run {
	s := wireguard()
	s.rounds = rounds
	r := s.run()
	for i := range r.Cells {
		for j := range r.Cells[i].Metrics {
			r.Cells[i].Metrics[j].Changes = []int{rounds / 3}
		}
	}
	r.Warnings = []analysis.Warning{{Cell: r.Cells[0].ID, Metric: "tcp-bandwidth", Finding: analysis.LevelChanges{Rounds: []int{7}}}}
	return r
}

func TestGolden(t *testing.T) {
	r := spoiled(wireguard().run(), 5)
	r.Warnings = []analysis.Warning{{Cell: "network.tcp.pod-to-pod", Metric: "tcp-cpu", Finding: analysis.Disagreement{Estimator: "paired t", Verdict: analysis.Costs}}}
	golden.Check(t, "testdata/wireguard.txt", asText(t, Run(r, RunOptions{All: true}), text.Options{}))
	golden.Check(t, "testdata/narrow.txt", asText(t, Run(wide(3, 1, 12), RunOptions{}), text.Options{Width: 60}))
	golden.Check(t, "testdata/invalid.txt", asText(t, Run(hollow(), RunOptions{}), text.Options{}))
	golden.Check(t, "testdata/wireguard.md", asMarkdown(t, Run(r, RunOptions{})))
	golden.Check(t, "testdata/wireguard.csv", asCSV(t, CSV, r))
	golden.Check(t, "testdata/wireguard.svg", Figure(r))
	golden.Check(t, "testdata/boxes.svg", boxesOf(r, "network.tcp.pod-to-pod", "tcp-bandwidth"))
	golden.Check(t, "testdata/runchart.svg", runChartOf(r, "network.tcp.pod-to-pod", "tcp-bandwidth"))
}

func TestTextColour(t *testing.T) {
	r := wireguard().run()
	with, without := asText(t, Run(r, RunOptions{}), text.Options{Color: true}), asText(t, Run(r, RunOptions{}), text.Options{})
	if strings.Contains(without, "\x1b") {
		t.Error("colour without being asked")
	}
	if !strings.Contains(with, "\x1b[1;31m▲ costs") {
		t.Error("no coloured verdict")
	}
	if got := safetext.Lines(with); got != without {
		t.Errorf("colour changes the text:\n%s", cmp.Diff(without, got))
	}
}

func TestPicturesAreWellFormed(t *testing.T) {
	for name, r := range fixtures() {
		pictures := map[string]string{"figure": Figure(r), "forest": forestOf(r)}
		for _, c := range r.Cells {
			for _, m := range c.Metrics {
				pictures["boxes "+c.ID+m.Metric.Name] = boxesOf(r, c.ID, m.Metric.Name)
				pictures["runchart "+c.ID+m.Metric.Name] = runChartOf(r, c.ID, m.Metric.Name)
			}
		}
		for picture, svg := range pictures {
			if err := wellFormed(svg); err != nil {
				t.Errorf("%s, %s: %v", name, picture, err)
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("%s, %s holds a coordinate that is no number", name, picture)
			}
		}
	}
	if g := arrange(wireguard().run()).seriesGroup("no such cell", "x"); g != nil {
		t.Errorf("group of an unknown cell: %+v", g)
	}
}

func wellFormed(doc string) error {
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	r := spoiled(wireguard().run(), 5)
	var back struct {
		Comparisons []struct {
			analysis.Comparison
			Reason *wording.Figures
			Text   string
		}
	}
	if err := json.Unmarshal([]byte(asCSV(t, JSON, r)), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Comparisons) != len(r.Comparisons) {
		t.Fatalf("%d comparisons, want %d", len(back.Comparisons), len(r.Comparisons))
	}
	for i, want := range r.Comparisons {
		got := back.Comparisons[i]
		if want.Reason != nil && got.Reason.Kind != want.Reason.Kind() || got.Text != wording.Sentence(&want) {
			t.Errorf("%+v, %q", got.Reason, got.Text)
		}
		want.Reason = nil // read back as its kind and figures
		if diff := cmp.Diff(want, got.Comparison); diff != "" {
			t.Error(diff)
		}
	}
}
