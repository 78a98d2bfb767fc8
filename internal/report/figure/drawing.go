// Package figure draws SVG pictures: overheads with their intervals (Forest), the trials of a metric (Boxes,
// RunChart), values of arms (Bars), a metric against a factor (Lines) and over many runs (History). Callers
// pass all numbers and words. The package escapes every string.
//
// Elements have literal colours as attributes, so that every SVG viewer shows them. A style sheet overrides
// attributes: the rules of css replace the colours on dark pages, by the classes of the elements. Attributes and rules are
// generated from the tables of palette.go.
package figure

import (
	"html"
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/columns"
	"tare/internal/text/safetext"
)

// drawing collects an SVG picture. Every string goes through escape.
type drawing struct {
	strings.Builder
	w, h float64
}

// escape makes any string safe as text or attribute value of HTML and XML.
func escape(s string) string { return html.EscapeString(safetext.Line(s)) }

func px(v float64) string {
	s := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

func at(x, y float64) string { return px(x) + " " + px(y) }

// svg returns the picture. It fills the width of its container, unless the attributes in size set its
// size. Screen readers read the title.
func (d *drawing) svg(title, size string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg"` + styled("picture") + size + ` viewBox="0 0 ` + px(d.w) + " " + px(d.h) +
		`" role="img" aria-label="` + escape(title) + `">` + "\n" + d.String() + "</svg>\n"
}

// text writes s at x, y. The class sets its look; the anchor is start, middle or end.
func (d *drawing) text(x, y float64, class, anchor, s string) {
	d.words(x, y, class, anchor, "", s)
}

// words writes s with a tooltip; "" for none. The class "halo" adds an outline as a second text below s, since
// not every program can draw the outline of a text before its letters.
func (d *drawing) words(x, y float64, class, anchor, tooltip, s string) {
	at := `<text x="` + px(x) + `" y="` + px(y) + `"`
	if anchor != "start" {
		at += ` text-anchor="` + anchor + `"`
	}
	if inner, ok := strings.CutSuffix(class, "halo"); ok {
		d.WriteString(at + styled(class) + ">" + escape(s) + "</text>\n")
		class = strings.TrimSpace(inner)
	}
	if class != "" {
		at += styled(class)
	}
	if tooltip != "" {
		tooltip = "<title>" + escape(tooltip) + "</title>"
	}
	d.WriteString(at + ">" + tooltip + escape(s) + "</text>\n")
}

// labelled writes the short form of a name. If this differs from the whole name, the whole name is the tooltip.
func (d *drawing) labelled(x, y float64, class, short, whole string) {
	if short == safetext.Line(whole) {
		whole = ""
	}
	d.words(x, y, class, "start", whole, short)
}

func (d *drawing) groupTitle(x, y, width float64, metric, cell, note string) {
	room := int(width / (letter * 12))
	name := columns.Shorten(safetext.Line(metric), room*6/10, columns.Ellipsis)
	where := columns.Shorten(safetext.Line(cell), max(4, room-columns.Width(name)-2), columns.Ellipsis)
	d.WriteString(`<text x="` + px(x) + `" y="` + px(y) + `"><title>` + escape(metric+", "+cell+note) + `</title><tspan` + styled("strong") + ">" +
		escape(name) + "</tspan><tspan" + styled("muted") + ` dx="10">` + escape(where) + "</tspan></text>\n")
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	d.path("M"+at(x1, y1)+"L"+at(x2, y2), class)
}

func (d *drawing) rect(x, y, w, h float64, class string) {
	d.WriteString(`<rect x="` + px(x) + `" y="` + px(y) + `" width="` + px(max(w, 0)) + `" height="` + px(max(h, 0)) +
		`"` + styled(class) + "/>\n")
}

func (d *drawing) path(data, class string) {
	if data != "" {
		d.WriteString(`<path d="` + data + `"` + styled(class) + "/>\n")
	}
}

func (d *drawing) band(upper, lower []string, class string) {
	slices.Reverse(lower)
	d.path("M"+strings.Join(upper, "L")+"L"+strings.Join(lower, "L")+"z", class)
}

// letter is the width in em of an average letter of the wider system fonts.
const letter = 0.6

func fit(s string, room, fontSize float64) string {
	return columns.Shorten(safetext.Line(s), max(4, int(room/(letter*fontSize))), columns.Ellipsis)
}

// Look is the colour and the shape of an arm in all pictures of a run.
type Look struct {
	class string // class of the colour
	shape int    // index into shapes
}

// Baseline is black, Control is grey. Any is the look of all treatments if there are too many for a look each.
var (
	Baseline = Look{class: "base"}
	Control  = Look{class: "ctrl"}
	Any      = Look{class: "c0", shape: 1}
)

// Treatment returns the shape and colour of the treatment with an index in the plan's order.
func Treatment(index int) Look {
	return Look{"c" + strconv.Itoa(index%colours), 1 + index%(len(shapes)-1)}
}

// shapes are the markers, as paths around 0,0 within a circle of radius 1. The circle is for baseline and
// control, the others are for treatments.
var shapes = []string{
	"M-.85 0a.85.85 0 1 0 1.7 0a.85.85 0 1 0-1.7 0z",
	"M-.8-.8h1.6v1.6h-1.6z",
	"M0-1.05L1 .75H-1z",
	"M0-1.1L1.1 0L0 1.1L-1.1 0z",
	"M0 1.05L1-.75H-1z",
	"M-.35-1h.7v.65h.65v.7h-.65v.65h-.7v-.65h-.65v-.7h.65z",
	"M0-1L.95-.31L.59.81H-.59L-.95-.31z",
	"M-.5-.87h1L1 0L.5.87h-1L-1 0z",
	"M-1-.6L1-.6L0 1z M-1-1h2v.25h-2z",
}

func (d *drawing) marker(x, y, r float64, l Look, extra string) {
	d.WriteString(`<path transform="translate(` + at(x, y) + `) scale(` + px(r) + `)" d="` + shapes[l.shape] +
		`"` + styled("mark "+l.class+extra) + "/>\n")
}
