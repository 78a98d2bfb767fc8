package report

import (
	"bytes"
	"encoding/hex"
	"image"
	"image/png"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"tare/internal/analysis"
)

// Pictures of a run, as a page has them.

func forestOf(r *analysis.Run) string {
	s := arrange(r)
	return s.forest().Draw(true)
}

func boxesOf(r *analysis.Run, cell, metric string) string {
	s := arrange(r)
	return s.boxes(*s.seriesGroup(cell, metric)).Draw()
}

func runChartOf(r *analysis.Run, cell, metric string) string {
	s := arrange(r)
	return s.runChart(*s.seriesGroup(cell, metric)).Draw()
}

func lineChartOf(r *analysis.Run, line int) string {
	return arrange(r).lineChart(&r.Scaling[line]).Draw(true)
}

// colours are what pictures consist of in light surroundings.
var colours = map[string]string{"paper": "#ffffff", "ink": "#1b1f24", "muted": "#57606a", "rule": "#d8dee4", "band": "#e9eff5", "control": "#858e98", "c0": "#0072b2"}

// rendered is a picture as a program without a browser's style sheets shows it.
func rendered(t *testing.T, svg string) image.Image {
	t.Helper()
	program, err := exec.LookPath("rsvg-convert")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("rsvg-convert is missing: apt-get install librsvg2-bin")
	}
	convert := exec.Command(program, "--background-color", "#ff00ff") // shows where nothing is drawn
	convert.Stdin = strings.NewReader(svg)
	var out, problems bytes.Buffer
	convert.Stdout, convert.Stderr = &out, &problems
	if err := convert.Run(); err != nil {
		t.Fatalf("rsvg-convert: %v: %s", err, problems.String())
	}
	shown, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// pixels counts the pixels of exactly each colour, by its name as in SVG.
func pixels(m image.Image) map[string]int {
	n := map[string]int{}
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			r, g, b, _ := m.At(x, y).RGBA()
			n["#"+hex.EncodeToString([]byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)})]++
		}
	}
	return n
}

func TestPicturesHaveTheirColoursEverywhere(t *testing.T) {
	r := spoiled(wireguard().run(), 5)
	whole := rendered(t, Figure(r))
	if got := whole.Bounds().Size(); got != (image.Point{X: 916, Y: 626}) {
		t.Errorf("the figure measures %v", got)
	}
	h := someHistory()
	p := experimentHistory{h.Experiments[0], h.Confidence}
	const cell, name = "network.tcp.pod-to-pod", "tcp-bandwidth"
	for picture, c := range map[string]struct {
		shown image.Image
		want  map[string]int // fewest pixels of a colour
	}{
		"figure":    {whole, map[string]int{"paper": 400_000, "ink": 500, "muted": 50, "rule": 4000, "band": 20_000, "c0": 500, "control": 500}},
		"forest":    {rendered(t, forestOf(r)), map[string]int{"ink": 500, "muted": 50, "rule": 4000, "band": 20_000, "c0": 500, "control": 500}},
		"boxes":     {rendered(t, boxesOf(r, cell, name)), map[string]int{"ink": 50, "c0": 20, "control": 20}},
		"run chart": {rendered(t, runChartOf(r, cell, name)), map[string]int{"ink": 20, "c0": 10, "control": 10}},
		"history":   {rendered(t, p.chart(&p.Series[0], HistoryOptions{}).Draw(true)), map[string]int{"ink": 10, "c0": 200}},
	} {
		n := pixels(c.shown)
		for colour, least := range c.want {
			if got := n[colours[colour]]; got < least {
				t.Errorf("%s: %d pixels of %s, want at least %d", picture, got, colour, least)
			}
		}
		if got := n["#000000"]; got > 0 {
			t.Errorf("%s: %d pixels are black, which is no colour of the palette", picture, got)
		}
		if got := n["#ff00ff"]; picture == "figure" && got > 0 {
			t.Errorf("the figure leaves %d pixels undrawn", got)
		}
	}
}

// Attributes and style sheet come from one table, yet a rule that holds in light
// surroundings too would make a picture that depends on who shows it.
func TestStyleSheetsChangeNothingInTheLight(t *testing.T) {
	svg := Figure(spoiled(wireguard().run(), 5))
	bare := regexp.MustCompile(`(?s)<style>.*</style>| class="[^"]*"`).ReplaceAllString(svg, "")
	if strings.Contains(bare, "var(") || strings.Contains(bare, "style") {
		t.Error("an element takes its looks from a style sheet")
	}
	with, without := pixels(rendered(t, svg)), pixels(rendered(t, bare))
	for colour, n := range with {
		if without[colour] != n {
			t.Fatalf("%d pixels are %s with the style sheet, %d without", n, colour, without[colour])
		}
	}
}
