package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/report/html"
	"tare/internal/run/journal"
)

func render(t testing.TB, r *analysis.Run, o RunOptions) string { return asPage(t, Run(r, o)) }

func TestPageSections(t *testing.T) {
	for name, r := range fixtures() {
		page := render(t, r, RunOptions{Experiment: []byte("name: x\n")})
		at := 0
		for _, id := range []string{"summary", "results", "trials", "diagnostics", "proof", "invalid", "machine", "harness", "repeat", "definitions"} {
			i := strings.Index(page[at:], `<section id="`+id+`"`)
			if i < 0 {
				t.Fatalf("%s: section %s is missing or out of order", name, id)
			}
			at += i
			if !strings.Contains(page, `href="#`+id+`"`) {
				t.Errorf("%s: no entry for %s in the contents", name, id)
			}
		}
		checkPage(t, name, page)
	}
}

func TestPageSays(t *testing.T) {
	r := spoiled(wireguard().run(), 5)
	page := render(t, r, RunOptions{Experiment: []byte("name: wireguard # <as given>\n"), RunDir: "runs/w g", Page: "public/report.html", Command: "tare run --seed 7 my.yaml",
		Generated: time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC)})
	says(t, "the page", strings.ReplaceAll(page, "3.1\u00a0%", "3.1&nbsp;%"),
		"name: wireguard # &lt;as given&gt;", "tare run --seed 7 my.yaml", `href="./../runs/w%20g/raw/"`, `href="./../runs/w%20g/trials.jsonl"`,
		`href="./../runs/w%20g/raw/0002-plain-network.tcp.pod-to-pod/"`,
		"Made once, when the layer was set up: peer with a wrong key.", "no WireGuard in this kernel", "14 March 2026, 15:00 UTC",
		"3.1&nbsp;%", "seed 7")
}

// allowed are the elements that a page may hold.
var allowed = strings.Fields(`html head meta title style body main header footer nav section h1 h2 h3 p a b span div ul li dl dt dd
	table thead tbody tr th td details summary figure code pre svg text tspan path rect g`)

// checkPage reads a page and complains about elements, attributes and addresses
// that have no place in it.
func checkPage(t *testing.T, name, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains(allowed, e.Name.Local) {
			t.Errorf("%s: element %s", name, e.Name.Local)
		}
		for _, a := range e.Attr {
			switch {
			case strings.HasPrefix(a.Name.Local, "on"), a.Name.Local == "style", a.Name.Local == "src":
				t.Errorf("%s: attribute %s on %s", name, a.Name.Local, e.Name.Local)
			case a.Name.Local == "href" && !regexp.MustCompile(`^(#[a-z][a-z0-9-]*|\./[^ "<>\\]*)$`).MatchString(a.Value):
				t.Errorf("%s: address %q", name, a.Value)
			}
		}
	}
}

const venom = "</text></td><script>alert(1)</script><img src=x onerror=alert(2)>\x1b]0;pwn\x07\x1b[31m|`rm -rf`\n\n# h\r\n" +
	"<!-- \"q\" 'q' &amp; {{.}} ]]> \u202eevil\x00 [l](javascript:alert(3)) =1+1"

// poison puts venom into every string below v that is not a fixed word.
func poison(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), n)
		}
	case reflect.Interface:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct && v.CanSet() {
			poisoned := reflect.New(v.Elem().Type()).Elem()
			poisoned.Set(v.Elem())
			poison(poisoned, n)
			v.Set(poisoned)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			poison(v.Field(i), n)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			poison(v.Index(i), n)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if k.Kind() == reflect.String {
				e := v.MapIndex(k)
				v.SetMapIndex(k, reflect.Value{})
				*n++
				v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("%s%s%d", k, venom, *n)), e)
			}
		}
	case reflect.String:
		switch v.Type() {
		case reflect.TypeFor[experiment.Role](), reflect.TypeFor[experiment.Scale](), reflect.TypeFor[analysis.Verdict](), reflect.TypeFor[analysis.Times](), reflect.TypeFor[experiment.Better]():
		default:
			v.SetString(v.String() + venom) // same text, same name
		}
	}
}

// poisoned is a run full of hostile strings.
func poisoned() *analysis.Run {
	r := spoiled(wireguard().run(), 6)
	r.Comparisons[0].Warnings = []analysis.Finding{analysis.Remark{Text: "odd"}}
	r.Warnings = []analysis.Warning{{Cell: "c", Finding: analysis.Remark{Text: "odd"}}}
	r.Reasons, r.Valid = []analysis.Reason{analysis.NoBaseline{}}, false
	r.Invalids = append(r.Invalids, journal.Trial{Raw: "javascript:alert(1)//../../../etc"})
	n := 0
	poison(reflect.ValueOf(r), &n)
	return r
}

// checkMarkdown complains about live markup and torn tables.
func checkMarkdown(t *testing.T, doc string) {
	t.Helper()
	doc = unfenced(doc)
	bare := strings.NewReplacer(`\\`, "", "\\`", "", `\|`, "", `\[`, "", `\]`, "", `\#`, "", `\*`, "", `\_`, "",
		"<details><summary>", "", "</summary>", "", "</details>", "").Replace(doc)
	if strings.ContainsAny(bare, "<>`[]") {
		t.Error("markdown holds live markup")
	}
	columns := 0
	for line := range strings.Lines(bare) {
		n := strings.Count(line, "|")
		if n == 0 {
			columns = 0
			continue
		}
		if columns == 0 {
			columns = n
		}
		if n != columns {
			t.Errorf("a table row has %d bars instead of %d: %q", n, columns, line)
		}
	}
}

// unfenced is a document without its blocks of code, in which nothing is markup. What stands in one
// must not end it.
func unfenced(doc string) string {
	out, fence := "", ""
	for line := range strings.Lines(doc) {
		switch text := strings.TrimSpace(line); {
		case fence == "" && len(text) > 2 && strings.Trim(text, "`") == "":
			fence = text
		case fence != "" && text == fence:
			fence = ""
		case fence == "":
			out += line
		}
	}
	return out
}

// large is a run of 1,000 rounds, 50 metrics and 4 arms.
func large() *analysis.Run {
	s := spec{name: "large", rounds: 1000, cells: []string{"a", "b", "c", "d", "e"}, arms: []madeArm{{"x", []float64{0.05}}, {"y", []float64{0.001}}}}
	for i := range 10 {
		s.metrics = append(s.metrics, metric(fmt.Sprintf("metric-%d", i), "s", experiment.Lower, i < 3, 0.01, 0.03))
	}
	return s.run()
}

func TestLargePageStaysSmall(t *testing.T) {
	if n := len(render(t, large(), RunOptions{})); n > 3<<20 {
		t.Errorf("the page has %d bytes, over 3 MiB", n)
	}
}

func BenchmarkHTML(b *testing.B) {
	r := large()
	b.ReportAllocs()
	for b.Loop() {
		if err := html.Write(io.Discard, Run(r, RunOptions{})); err != nil {
			b.Fatal(err)
		}
	}
}
