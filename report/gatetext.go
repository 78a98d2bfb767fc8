package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"tare/gate"
)

// GateText writes a gate for a terminal: the outcome, then a line for each case
// with its limit and its overhead, and the reason below those that do not pass.
func GateText(w io.Writer, r *gate.Result, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	buffered := bufio.NewWriter(w)
	t := &gateTerminal{terminal: terminal{w: buffered, o: o}, result: r, shared: gateShared(r)}
	t.header()
	t.cases()
	t.warnings()
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

type gateTerminal struct {
	terminal
	result *gate.Result
	shared []string // what holds for several cases
	// Widths of the columns.
	arm, what, limit, point int
}

func (t *gateTerminal) header() {
	r := t.result
	for i, l := range wrap(GateLine(r), t.o.Width-2) {
		if mark := gateMark(r.Outcome, t.o.ASCII); i == 0 {
			l = mark + " " + l
		} else {
			l = "  " + l
		}
		t.line(t.style(gateStyle(r.Outcome), l))
	}
	t.para("", gateAbout(r))
	if label := gateObservational(r); label != "" {
		t.para("", label)
	}
	for _, reason := range gateReasons(r) {
		t.para("  - ", reason)
	}
	for _, text := range t.shared {
		t.para("", text)
	}
}

func (t *gateTerminal) warnings() {
	list := gateWarnings(t.result)
	if len(list) == 0 {
		return
	}
	t.line("")
	t.line(t.style(bold, "Warnings"))
	for _, w := range list {
		t.para("  - ", w)
	}
}

func (t *gateTerminal) cases() {
	for _, c := range t.result.Cases {
		point, _ := gateOverhead(c)
		t.arm, t.what = max(t.arm, cells(plain(c.Arm))), max(t.what, cells(gateWhat(c)))
		t.limit, t.point = max(t.limit, cells(plain(c.Budget.String()))), max(t.point, cells(point))
	}
	t.arm, t.what = min(t.arm, max(10, t.o.Width/4)), min(t.what, max(12, t.o.Width/3))
	t.limit = min(t.limit, 16)
	cell := ""
	for i, c := range t.result.Cases {
		if i == 0 || c.Cell != cell {
			cell = c.Cell
			t.line("")
			t.line(t.style(bold, shorten(plain(cell), t.o.Width, "…")))
		}
		t.gateCase(c)
	}
}

// gateCase writes one case: on two lines where one is too narrow.
func (t *gateTerminal) gateCase(c gate.Case) {
	point, interval := gateOverhead(c)
	head := gateMark(c.Outcome, t.o.ASCII) + " " + pad(shorten(plain(c.Arm), t.arm, "…"), t.arm) + "  " + pad(shorten(gateWhat(c), t.what, "…"), t.what)
	tail := "limit " + pad(shorten(plain(c.Budget.String()), t.limit, "…"), t.limit) + "  " + padLeft(point, t.point) + " " + interval
	styled := t.style(gateStyle(c.Outcome), shorten(head, t.o.Width-2, "…"))
	if 2+cells(head)+2+cells(strings.TrimRight(tail, " ")) <= t.o.Width {
		t.line("  " + styled + "  " + tail)
	} else {
		t.line("  " + styled)
		t.para("      ", strings.Join(strings.Fields(tail), " "))
	}
	if why := gateBrief(t.result, c, t.shared); why != "" && c.Outcome != gate.Pass && c.Outcome != gate.Invalid {
		t.para("      ", why)
	}
}
