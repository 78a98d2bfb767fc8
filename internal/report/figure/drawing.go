// Package figure draws SVG pictures: overheads with their intervals (Forest), the trials of a metric (Boxes, RunChart),
// values of arms (Bars), a metric against a factor (Lines) and over many runs (History). Callers pass all numbers and
// words. The package escapes every string.
//
// Elements have literal colours as attributes, so that every SVG viewer shows them. The style sheet css overrides the
// colours on dark pages, by the classes of the elements. Attributes and rules are generated from the tables in this
// file.
package figure

import (
	"cmp"
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

// svg returns the picture with a title for screen readers. size holds SVG attributes; "": the picture fills the width
// of its container.
func (d *drawing) svg(title, size string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg"` + styled("picture") + size + ` viewBox="0 0 ` + px(d.w) + " " + px(d.h) +
		`" role="img" aria-label="` + escape(title) + `">` + "\n" + d.String() + "</svg>\n"
}

// text writes s at x, y. The class sets its look; the anchor is start, middle or end.
func (d *drawing) text(x, y float64, class, anchor, s string) {
	d.words(x, y, class, anchor, "", s)
}

// words writes s at x, y, with a tooltip unless tooltip is "". With the class "halo", s is written twice, first as an
// outline: programs differ in the drawing order within one text.
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

// labelled writes the short form of a name. If short differs from the name, the tooltip shows the whole name.
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
	class string // CSS class that sets the colour
	shape int    // index into shapes
}

// Baseline is the black look of the baseline, Control the grey look of the control. Any is for all treatments, if there
// are more treatments than looks.
var (
	Baseline = Look{class: "base"}
	Control  = Look{class: "ctrl"}
	Any      = Look{class: "c0", shape: 1}
)

// Treatment returns the look of a treatment. The index is the treatment's place among the treatments of the
// plan.
func Treatment(index int) Look {
	return Look{"c" + strconv.Itoa(index%colours), 1 + index%(len(shapes)-1)}
}

// shapes are the markers, as paths around 0,0 within a circle of radius 1. The circle is for baseline and control,
// the other shapes are for treatments.
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

type colour struct{ name, light, dark string }

var palette = []colour{
	{"paper", "#ffffff", "#14181d"}, {"ink", "#1b1f24", "#e6eaee"}, {"muted", "#57606a", "#9aa5b1"},
	{"rule", "#d8dee4", "#323a43"}, {"band", "#e9eff5", "#202a35"}, {"control", "#858e98", "#87919c"},
	{"c0", "#0072b2", "#5fb0ea"}, {"c1", "#d55e00", "#f58f57"}, {"c2", "#009e73", "#3fcb9f"}, {"c3", "#b0508f", "#e29ac8"},
	{"c4", "#b87900", "#ebb643"}, {"c5", "#2f9bd8", "#a5d8f8"}, {"c6", "#3b3f45", "#d3d8dd"},
}

var armColours = []struct{ class, colour string }{
	{"base", "ink"}, {"ctrl", "control"},
	{"c0", "c0"}, {"c1", "c1"}, {"c2", "c2"}, {"c3", "c3"}, {"c4", "c4"}, {"c5", "c5"}, {"c6", "c6"},
}

const colours = 7

// property is an attribute of an SVG element. Its value may be a colour of the palette, such as "ink", or "arm" for the
// colour of the element's arm.
type property struct{ name, value string }

// classes define how elements look. If two classes of an element set the same property, the later class of this list
// wins.
var classes = []struct {
	class      string
	properties []property
}{
	{"picture", []property{{"font-family", `system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif`},
		{"font-size", "12"}, {"fill", "ink"}}},
	{"small", []property{{"font-size", "11"}}},
	{"muted", []property{{"fill", "muted"}}},
	{"strong", []property{{"font-weight", "600"}}},
	{"heading", []property{{"font-size", "17"}, {"font-weight", "600"}}},
	{"halo", []property{{"fill", "none"}, {"stroke", "paper"}, {"stroke-width", "4"}, {"stroke-linejoin", "round"}}},
	{"paper", []property{{"fill", "paper"}}},
	{"band", []property{{"fill", "band"}}},
	{"grid", []property{{"stroke", "rule"}, {"fill", "none"}}},
	{"zero", []property{{"stroke", "ink"}, {"stroke-width", "1.2"}, {"fill", "none"}}},
	{"edge", []property{{"stroke", "muted"}, {"stroke-dasharray", "2 3"}, {"fill", "none"}}},
	{"break", []property{{"stroke", "muted"}, {"stroke-dasharray", "5 3"}, {"fill", "none"}}},
	{"mark", []property{{"fill", "arm"}}},
	{"hollow", []property{{"fill", "paper"}, {"stroke", "arm"}, {"stroke-width", ".4"}}},
	{"range", []property{{"stroke", "arm"}, {"stroke-width", "2"}, {"fill", "none"}}},
	{"thin", []property{{"stroke", "arm"}, {"stroke-width", "1.2"}, {"fill", "none"}}},
	{"trace", []property{{"stroke", "arm"}, {"stroke-opacity", ".45"}, {"fill", "none"}, {"stroke-linejoin", "round"}}},
	{"box", []property{{"fill", "arm"}, {"fill-opacity", ".16"}, {"stroke", "arm"}, {"stroke-width", "1.2"}}},
	{"bar", []property{{"fill", "arm"}, {"fill-opacity", ".45"}}},
	{"middle", []property{{"stroke", "arm"}, {"stroke-width", "2.6"}, {"fill", "none"}}},
	{"dots", []property{{"stroke", "arm"}, {"stroke-width", "3.6"}, {"stroke-linecap", "round"}, {"stroke-opacity", ".6"}, {"fill", "none"}}},
	{"faint", []property{{"stroke", "arm"}, {"stroke-width", "2.6"}, {"stroke-linecap", "round"}, {"stroke-opacity", ".35"}, {"fill", "none"}}},
	{"out", []property{{"stroke", "arm"}, {"stroke-width", "1.2"}, {"fill", "none"}}},
	{"spread", []property{{"fill", "arm"}, {"fill-opacity", ".18"}}},
	{"cross", []property{{"stroke", "ink"}, {"stroke-width", "1.6"}, {"fill", "none"}}},
	{"whisker", []property{{"stroke", "arm"}, {"stroke-width", "1.2"}, {"stroke-opacity", ".45"}, {"fill", "none"}}},
	{"level", []property{{"stroke", "arm"}, {"stroke-width", "2.6"}, {"stroke-opacity", ".8"}, {"fill", "none"}}},
	{"unsure", []property{{"fill", "band"}}},
	{"event", []property{{"fill", "muted"}}},
	{"left", []property{{"stroke", "muted"}, {"stroke-width", "1.6"}, {"fill", "none"}}},
}

var lights = func() map[string]string {
	all := map[string]string{}
	for _, c := range palette {
		all[c.name] = c.light
	}
	return all
}()

// styled returns two things for an element: its class attribute, and the attributes that its classes set on
// light pages.
func styled(class string) string {
	own := strings.Fields(class)
	arm := ""
	for _, c := range armColours {
		if slices.Contains(own, c.class) {
			arm = c.colour
		}
	}
	var names []string
	values := map[string]string{}
	for _, c := range classes {
		if !slices.Contains(own, c.class) {
			continue
		}
		for _, p := range c.properties {
			if !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
			values[p.name] = p.value
			if p.value == "arm" {
				values[p.name] = arm
			}
		}
	}
	out := ` class="` + class + `"`
	for _, name := range names {
		out += " " + name + `="` + cmp.Or(lights[values[name]], values[name]) + `"`
	}
	return out
}

// css is the style sheet of pictures, on a page or in a file. It has the colours for dark pages, and properties that
// are no SVG attributes.
var css = makeCSS()

func makeCSS() string {
	var b strings.Builder
	b.WriteString(".picture .num { font-variant-numeric: tabular-nums; }\n.picture .halo { user-select: none; }\n")
	b.WriteString("@media screen and (prefers-color-scheme: dark) {\n  " + root(func(c colour) string { return c.dark }))
	for _, c := range armColours {
		b.WriteString("  .picture ." + c.class + " { --arm: var(--" + c.colour + "); }\n")
	}
	for _, c := range classes {
		rules := ""
		for _, p := range c.properties {
			switch {
			case p.name != "fill" && p.name != "stroke":
			case p.value == "none":
				rules += " " + p.name + ": none;"
			default:
				rules += " " + p.name + ": var(--" + p.value + ");"
			}
		}
		if rules != "" {
			selector := ".picture"
			if c.class != "picture" {
				selector += " ." + c.class
			}
			b.WriteString("  " + selector + " {" + rules + " }\n")
		}
	}
	return b.String() + "}\n"
}

func root(of func(colour) string) string {
	rules := ":root {"
	for _, c := range palette {
		rules += " --" + c.name + ": " + of(c) + ";"
	}
	return rules + " }\n"
}

// PageCSS returns the style sheet of a page with pictures. It defines the palette's colours as variables for the page's
// own rules, light and dark.
func PageCSS() string { return root(func(c colour) string { return c.light }) + css }
