package journal

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

// plainTrials are trials of which not every one is plain.
func plainTrials() []Trial {
	start := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	return []Trial{
		{},
		{Seq: 1, Session: 1, Round: 3, Attempt: 1, Cell: "total", Arm: "aks", Values: map[string]float64{"b": 0.1, "a": 12, "c": 1e-6}},
		{Seq: math.MaxInt, Round: math.MinInt, Cell: "a.b=c,d", Arm: "", Start: start, Prepared: -1, Wall: time.Hour, Raw: "raw/1-x.json", Source: "x y.json"},
		{Values: map[string]float64{"zero": 0, "minus": -1.5, "negative zero": math.Copysign(0, -1), "large": 123456789012345678}},
		{Values: map[string]float64{"small": 1e-7}},
		{Values: map[string]float64{"huge": 1e21}},
		{Values: map[string]float64{"\"": 1}},
		{Values: map[string]float64{"µ": 1}},
		{Values: map[string]float64{}},
		{Cell: "<b>"}, {Cell: "\x1b"}, {Arm: "é"}, {Raw: "a\\b"}, {Source: "\x7f"},
		{Start: start.In(time.FixedZone("", 3600))},
		{Start: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Invalid: []Violation{{Rule: "import", Detail: "x"}}},
		{Harness: Harness{CPU: 1}},
	}
}

// TestPlain checks that what is written plainly is what encoding/json writes, and
// reads the same.
func TestPlain(t *testing.T) {
	var w plainWriter
	plain := 0
	for _, trial := range plainTrials() {
		line, ok := w.append([]byte("before"), &trial)
		if !ok {
			if string(line) != "before" {
				t.Errorf("%+v is not plain and leaves %q", trial, line)
			}
			continue
		}
		plain++
		want, err := json.Marshal(trialLine{Schema: TrialSchema, Trial: &trial})
		if err != nil || string(line) != "before"+string(want) {
			t.Errorf("written as %s, want %s (%v)", line, want, err)
		}
		sameTrial(t, want, true)
	}
	if want := 6; plain != want {
		t.Errorf("%d of the trials are plain, want %d", plain, want)
	}
}

// sameTrial checks that a line is read as encoding/json reads it, if it is plain.
func sameTrial(t *testing.T, line []byte, plain bool) {
	t.Helper()
	var r plainReader
	got, ok := r.trial(line)
	if !ok && plain {
		t.Errorf("%s is not read", line)
	}
	if !ok {
		return
	}
	var want Trial
	whole := trialLine{Trial: &want}
	if err := json.Unmarshal(line, &whole); err != nil || whole.Schema != TrialSchema {
		t.Errorf("%s is read, and is none: %v", line, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %+v, and by encoding/json as %+v", line, got, want)
	}
}

const plainHead = `{"schema":"tare.trial/v1","seq":1,"session":1,"round":1,"attempt":1,"position":0,"cell":"c","arm":"a"`

// TestNotPlain reads lines that are no trials, or no plain ones.
func TestNotPlain(t *testing.T) {
	for _, rest := range []string{
		``, `}`, `,"wall":0`, `,"wall":0} `, `,"wall":0}x`, `,"wall":01}`, `,"wall":-}`, `,"wall":1.0}`, `,"wall":9223372036854775808}`,
		`,"wall":0,"values":{}}`, `,"wall":0,"values":{"a":1,}}`, `,"wall":0,"values":{"a":.5}}`, `,"wall":0,"values":{"a":1.}}`,
		`,"wall":0,"values":{"a":1e}}`, `,"wall":0,"values":{"a":1e999}}`, `,"wall":0,"values":{"a":+1}}`, `,"wall":0,"values":{"a":0x1}}`,
		`,"wall":0,"values":{"a":1_0}}`, `,"wall":0,"values":{"a":Inf}}`, `,"wall":0,"values":{"a":"1"}}`, `,"wall":0,"values":{"a":null}}`,
		`,"wall":0,"raw":null}`, `,"wall":0,"raw":"\u0041"}`, `,"start":"2026","wall":0}`, `,"wall":0,"invalid":[]}`, `,"wall":0,"unknown":1}`,
	} {
		var r plainReader
		if got, ok := r.trial([]byte(plainHead + rest)); ok {
			t.Errorf("%s is read as %+v", rest, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, trial := range plainTrials() {
		if line, err := json.Marshal(trialLine{Schema: TrialSchema, Trial: &trial}); err == nil {
			f.Add(line)
		}
	}
	f.Add([]byte(plainHead + `,"wall":0,"values":{"a":1,"a":2.50e+1,"b":-0}}` + "\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		sameTrial(t, line, false)
		var trial Trial
		if json.Unmarshal(line, &trialLine{Trial: &trial}) != nil {
			return
		}
		want, err := json.Marshal(trialLine{Schema: TrialSchema, Trial: &trial})
		var w plainWriter
		if got, ok := w.append(nil, &trial); ok && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("written as %s, want %s (%v)", got, want, err)
		}
	})
}
