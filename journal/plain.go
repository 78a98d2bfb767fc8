package journal

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"tare/machine"
)

// Of an imported trial little more is known than where it belongs and its values,
// and there are 100,000 of them in a long table. Their lines are written and read
// here without reflection, in one pass: exactly as encoding/json writes and reads
// them, or not at all. Whatever is not plain is left to encoding/json, and so is
// every error.

// plainText says whether text stands in JSON as it is.
func plainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// plainWriter appends trials to lines.
type plainWriter struct{ names []string }

// append appends the line of a trial, without its newline. A trial that is not
// plain is not appended, and ok is false.
func (w *plainWriter) append(line []byte, t *Trial) (whole []byte, ok bool) {
	if len(t.Invalid) > 0 || len(t.Checks) > 0 || len(t.Used) > 0 || t.Conditions != (machine.Conditions{}) || t.Harness != (Harness{}) ||
		!plainText(t.Cell) || !plainText(t.Arm) || !plainText(t.Raw) || !plainText(t.Source) {
		return line, false
	}
	number := func(name string, v int64) { line = strconv.AppendInt(append(line, name...), v, 10) }
	text := func(name, v string) { line = append(append(append(line, name...), v...), '"') }
	begun := line
	text(`{"schema":"`, TrialSchema)
	number(`,"seq":`, int64(t.Seq))
	number(`,"session":`, int64(t.Session))
	number(`,"round":`, int64(t.Round))
	number(`,"attempt":`, int64(t.Attempt))
	number(`,"position":`, int64(t.Position))
	text(`,"cell":"`, t.Cell)
	text(`,"arm":"`, t.Arm)
	if !t.Start.IsZero() {
		var err error
		line = append(line, `,"start":"`...)
		if line, err = t.Start.AppendText(line); err != nil {
			return begun, false
		}
		line = append(line, '"')
	}
	if t.Prepared != 0 {
		number(`,"prepared":`, int64(t.Prepared))
	}
	number(`,"wall":`, int64(t.Wall))
	if len(t.Values) > 0 {
		line = append(line, `,"values":`...)
		if line, ok = w.values(line, t.Values); !ok {
			return begun, false
		}
	}
	if t.Raw != "" {
		text(`,"raw":"`, t.Raw)
	}
	if t.Source != "" {
		text(`,"source":"`, t.Source)
	}
	return append(line, '}'), true
}

// values appends values in the order of their names.
func (w *plainWriter) values(line []byte, values map[string]float64) (whole []byte, ok bool) {
	w.names = w.names[:0]
	for name := range values {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	before := byte('{')
	for _, name := range w.names {
		v := values[name]
		// Beyond these bounds encoding/json writes exponents.
		if abs := math.Abs(v); !plainText(name) || abs != 0 && (abs < 1e-6 || abs >= 1e21) || math.IsNaN(v) {
			return line, false
		}
		line = append(append(append(line, before, '"'), name...), '"', ':')
		line = strconv.AppendFloat(line, v, 'f', -1, 64)
		before = ','
	}
	return append(line, '}'), true
}

// plainReader reads the lines of one log. Names come again and again, and are
// kept once.
type plainReader struct {
	rest  []byte
	names map[string]string
	most  int // values of the trial before
}

// trial reads a line that is as append writes it; otherwise ok is false.
func (r *plainReader) trial(line []byte) (t Trial, ok bool) {
	r.rest = bytes.TrimSuffix(line, []byte("\n"))
	ok = r.next(`{"schema":"`+TrialSchema+`","seq":`) && r.int(&t.Seq) &&
		r.next(`,"session":`) && r.int(&t.Session) &&
		r.next(`,"round":`) && r.int(&t.Round) &&
		r.next(`,"attempt":`) && r.int(&t.Attempt) &&
		r.next(`,"position":`) && r.int(&t.Position) &&
		r.next(`,"cell":`) && r.text(&t.Cell) &&
		r.next(`,"arm":`) && r.text(&t.Arm) &&
		(!r.next(`,"start":`) || r.start(&t)) &&
		(!r.next(`,"prepared":`) || r.int64((*int64)(&t.Prepared))) &&
		r.next(`,"wall":`) && r.int64((*int64)(&t.Wall)) &&
		(!r.next(`,"values":{`) || r.values(&t)) &&
		(!r.next(`,"raw":`) || r.text(&t.Raw)) &&
		(!r.next(`,"source":`) || r.text(&t.Source)) &&
		r.next(`}`) && len(r.rest) == 0
	return t, ok
}

// next passes over what comes next if it is this.
func (r *plainReader) next(what string) bool {
	if len(r.rest) < len(what) || string(r.rest[:len(what)]) != what {
		return false
	}
	r.rest = r.rest[len(what):]
	return true
}

// digits passes over digits and says how many there were.
func (r *plainReader) digits() int {
	n := 0
	for n < len(r.rest) && r.rest[n] >= '0' && r.rest[n] <= '9' {
		n++
	}
	r.rest = r.rest[n:]
	return n
}

// whole passes over a whole number as JSON has it, without leading zeros.
func (r *plainReader) whole() bool {
	r.next("-")
	if r.next("0") {
		return r.digits() == 0
	}
	return r.digits() > 0
}

func (r *plainReader) int64(into *int64) bool {
	begun := r.rest
	if !r.whole() {
		return false
	}
	v, err := strconv.ParseInt(string(begun[:len(begun)-len(r.rest)]), 10, 64)
	*into = v
	return err == nil
}

func (r *plainReader) int(into *int) bool {
	var v int64
	ok := r.int64(&v)
	*into = int(v)
	return ok && int64(*into) == v
}

// float reads a number.
func (r *plainReader) float(into *float64) bool {
	begun := r.rest
	if !r.whole() || r.next(".") && r.digits() == 0 {
		return false
	}
	if r.next("e") || r.next("E") {
		if !r.next("-") {
			r.next("+")
		}
		if r.digits() == 0 {
			return false
		}
	}
	v, err := strconv.ParseFloat(string(begun[:len(begun)-len(r.rest)]), 64)
	*into = v
	return err == nil
}

// quoted gives the text between the next two quotes, if it stands for itself.
func (r *plainReader) quoted() (text []byte, ok bool) {
	if !r.next(`"`) {
		return nil, false
	}
	for i, c := range r.rest {
		switch {
		case c == '"':
			text, r.rest = r.rest[:i], r.rest[i+1:]
			return text, true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// mostNames bounds what is remembered: a name that is new on every line is not
// worth it.
const mostNames = 1 << 12

// text reads a name.
func (r *plainReader) text(into *string) bool {
	text, ok := r.quoted()
	if !ok {
		return false
	}
	name, known := r.names[string(text)]
	if !known {
		name = string(text)
		if r.names == nil {
			r.names = map[string]string{}
		}
		if len(r.names) < mostNames {
			r.names[name] = name
		}
	}
	*into = name
	return true
}

func (r *plainReader) start(t *Trial) bool {
	text, ok := r.quoted()
	return ok && t.Start.UnmarshalText(text) == nil
}

// values reads at least one value, behind the brace.
func (r *plainReader) values(t *Trial) bool {
	t.Values = make(map[string]float64, r.most)
	for {
		var name string
		var v float64
		if !r.text(&name) || !r.next(":") || !r.float(&v) {
			return false
		}
		t.Values[name] = v
		if r.next("}") {
			r.most = len(t.Values)
			return true
		}
		if !r.next(",") {
			return false
		}
	}
}
