package figure

import (
	"cmp"
	"slices"
	"strings"
)

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

// property is a presentation attribute of SVG. Its value may be a colour of the palette, or "arm" for the
// colour of the arm that an element belongs to.
type property struct{ name, value string }

// classes define the look of elements. Of two classes that set one property, the later one wins.
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

// styled returns the class attribute of an element, and the attributes of its classes for light pages.
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

// css is the style sheet of pictures, in a page or in a file with one picture: the colours for dark
// pages, and properties that attributes cannot set.
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

// PageCSS returns the style sheet of a page with pictures. It also defines the palette's colours as
// variables for the page's own rules, for light and dark pages.
func PageCSS() string { return root(func(c colour) string { return c.light }) + css }
