package longcsv_test

import (
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/importertest"
	"tare/internal/importer/longcsv"
)

func TestGolden(t *testing.T) { importertest.Golden(t, longcsv.Format) }

// TestErrors checks that an error names the line and column.
func TestErrors(t *testing.T) {
	const header = "arm,round,metric,unit,better,value\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"blank", "\n\n  \n", "the file is empty"},
		{"header only", header, "the file has a header and no rows"},
		{"no header", "plain,1,latency,ms,lower,12.3\n", `line 1 must be a header with columns separated by commas, semicolons or tabs, one of them metric`},
		{"another table", "a|b|c\n1|2|3\n", `as in "arm,round,metric,unit,better,value"; it is "a|b|c"`},
		{"missing column", "arm,metric,value\n", "line 1: the column better is missing"},
		{"misspelt column", "arm,metric,bettr,value\n", `line 1: unknown column "bettr": did you mean better?`},
		{"column twice", "arm,metric,better,value,Value\n", "line 1: the column value is there twice"},
		{"too few fields", header + "plain,1,latency,ms,lower\n", "line 2: 5 fields where the header has 6"},
		{"too many fields", header + "plain,1,latency,ms,lower,1,5\n", "line 2: 7 fields where the header has 6"},
		{"no direction", header + "plain,1,latency,ms,lower,1\nplain,2,latency,ms,less,1\n", `line 3, column 20: better: "less" is neither higher nor lower`},
		{"no metric", header + "plain,1, ,ms,lower,1\n", "line 2, column 9: metric: the name of a metric is missing"},
		{"no arm", header + ",1,latency,ms,lower,1\n", "line 2, column 1: arm: the name of an arm is missing"},
		{"round 0", header + "plain,0,latency,ms,lower,1\n", `line 2, column 7: round: "0" is not a number of a round`},
		{"round 1.5", header + "plain,1.5,latency,ms,lower,1\n", `round: "1.5" is not a number of a round`},
		{"round out of range", header + "plain,99999999999999999999,latency,ms,lower,1\n", "is not a number of a round"},
		{"round missing", header + "plain,1,latency,ms,lower,1\nplain,,latency,ms,lower,1\n", "line 3: round is empty, but not in line 2"},
		{"round sometimes", header + "plain,,latency,ms,lower,1\nplain,4,latency,ms,lower,1\n", "line 3: round is 4, but empty in line 2"},
		{"value twice", header + "plain,1,latency,ms,lower,1\nplain,1,latency,ms,lower,2\n", "line 3, column 9: metric: latency has a value for this arm, cell and round in line 2 already"},
		{"other unit", header + "plain,1,latency,ms,lower,1\nmtls,1,latency,s,lower,2\n", "line 3, column 8: metric: latency is described otherwise in line 2"},
		{"other direction", header + "plain,1,latency,ms,lower,1\nmtls,1,latency,ms,higher,2\n", "latency is described otherwise in line 2"},
		{"bare quote", header + "pl\"ain,1,latency,ms,lower,1\n", "line 2, column 3: a quote inside a field that is not quoted"},
		{"open quote", header + "plain,1,latency,ms,lower,\"1\n", "a quoted field that does not end where it should"},
		{"open quote behind others", "\n\n" + header + "plain,1,latency,ms,lower,1\nplain,2,latency,ms,low\"er,1\n", "line 5, column 23: a quote inside"},
		{"scale", "metric,better,value,scale\nx,lower,1,log\n", `line 2, column 11: scale: "log" is neither ratio nor difference`},
		{"headline", "metric,better,value,headline\nx,lower,1,maybe\n", `headline: "maybe" is neither true nor false`},
		{"headline of a difference", "metric,better,value,headline,scale\nx,lower,1,yes,difference\n", "a metric on the scale difference cannot be a headline"},
		{"errors", "metric,better,value,errors\nx,lower,1,200%\n", `errors: "200%" is not a share of failed operations`},
		{"errors not finite", "metric,better,value,errors\nx,lower,1,NaN\n", `errors: "NaN" is not a share`},
		{"start", "metric,better,value,start\nx,lower,1,yesterday\n", `start: "yesterday" is neither a time as 2026-01-02T15:04:05Z nor seconds since 1970`},
		{"valid", "metric,better,value,valid\nx,lower,1,ok\n", `valid: "ok" is neither true nor false`},
		{"paired", "metric,better,value,paired\nx,lower,1,both\n", `paired: "both" is neither true nor false`},
		{"attempt", "round,attempt,metric,better,value\n1,first,x,lower,1\n", `line 2, column 3: attempt: "first" is not a number of an attempt, which are whole and begin at 1`},
		{"attempt twice", "round,attempt,metric,better,value\n1,2,x,lower,1\n1,2,x,lower,1\n", "x has a value for this arm, cell and round in line 2 already"},
		{"UTF-16", "\xff\xfea\x00r\x00m\x00", "the file is in UTF-16: save it as CSV UTF-8"},
		{"NUL bytes", header + "plain,1,latency,ms,lower,1\n\x00\x00\x00", "the file holds NUL bytes"},
		{"escape sequence", header + "plain,1,latency,ms,\x1b[31m,1\n", `better: "\x1b[31m" is neither`},
	} {
		t.Run(test.name, func(t *testing.T) {
			trials, err := importertest.Read(longcsv.Format, "x.csv", test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if len(trials) > 0 {
				t.Errorf("%d trials before the error", len(trials))
			}
		})
	}
}

// TestValues checks the accepted forms of numbers, and that an unusable number makes its trial invalid.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		separator string
		values    []string
		want      float64 // the value of the last trial
		broken    string
		whole     bool // set if the whole file is an error
	}{
		{",", []string{"12.5"}, 12.5, "", false},
		{",", []string{`"12,5"`}, 0, `line 2, column 9: value: x: "12,5" is not a number: write it without thousands separators`, true},
		{";", []string{"12,5"}, 12.5, "", false},
		{";", []string{"12.5"}, 12.5, "", false},
		{";", []string{"7", "-12,5e3"}, -12500, "", false},
		{";", []string{"12,5", "1.234"}, 0, `"1.234" has another decimal point than the numbers before it`, true},
		{";", []string{"12.5", "1,234"}, 0, `"1,234" has another decimal point than the numbers before it`, true},
		{";", []string{"1.234,5"}, 0, "write it without thousands separators", true},
		{"\t", []string{"1,234"}, 0, "write it without thousands separators", true},
		{",", []string{""}, 0, "a number is missing", false},
		{",", []string{"Inf"}, 0, `"Inf" is not a finite number`, false},
		{",", []string{"#DIV/0!"}, 0, `"#DIV/0!" is not a number`, false},
		{",", []string{"0x10"}, 0, "is not a number", true},
		{";", []string{"990,5", "1.007,0"}, 0, "line 3, column 9: value: x: \"1.007,0\" is not a number", true},
		{";", []string{"990", "1.021"}, 0, `line 3, column 9: value: "1.021" may be a thousand times as much`, true},
		{";", []string{"990", "1,021"}, 0, `"1,021" may be a thousand times as much`, true},
		{";", []string{"990", "990.5", "1.021"}, 1.021, "", false},
		{";", []string{"1.034", "1.021"}, 1.021, "", false},
		{",", []string{"990", "1.021"}, 1.021, "", false},
		{",", []string{"-"}, 0, `"-" is not a number`, false},
		{",", []string{"12ms"}, 0, `"12ms" is not a number`, true},
		{",", []string{"1e999"}, 0, "is not a finite number", false},
	} {
		text := strings.Join([]string{"metric", "better", "value"}, test.separator) + "\n"
		for _, v := range test.values {
			text += strings.Join([]string{"x", "lower", v}, test.separator) + "\n"
		}
		trials, err := importertest.Read(longcsv.Format, "x.csv", text)
		if err != nil && test.broken != "" && len(trials) == 0 { // the whole file is an error
			if !test.whole || !strings.Contains(err.Error(), test.broken) {
				t.Errorf("%q gives %v, want %q", text, err, test.broken)
			}
			continue
		}
		if err != nil || test.whole || len(trials) != len(test.values) {
			t.Errorf("%q gives %d trials, %v", text, len(trials), err)
			continue
		}
		last := trials[len(trials)-1]
		if !strings.Contains(last.Broken, test.broken) || (last.Broken == "") != (test.broken == "") {
			t.Errorf("%q is broken: %q, want %q", text, last.Broken, test.broken)
		}
		if test.broken == "" && last.Values[0].Value != test.want {
			t.Errorf("%q is read as %v", text, last.Values[0].Value)
		}
	}
}

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, longcsv.Format, "metric\tbetter\tvalue\nx\tlower\t1\n", "metric,better,value\n\"x\n", "sep=;\nmetric;better;value\nx;lower;1,5\n")
}

func BenchmarkRead(b *testing.B) { importertest.Benchmark(b, longcsv.Format, "rounds.csv") }

// TestAttempts checks that the last attempt at a round is the trial, wherever it stands in the file.
func TestAttempts(t *testing.T) {
	trials, err := importertest.Read(longcsv.Format, "x.csv", `arm,round,attempt,metric,better,value,valid
a,1,1,x,lower,,false
a,1,1,y,lower,3,false
a,2,,x,lower,10,
a,1,3,x,lower,30,true
a,1,2,x,lower,20,false
a,1,3,y,lower,31,true
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) != 2 {
		t.Fatalf("%d trials, want 2", len(trials))
	}
	for i, want := range []struct {
		round  int
		values []float64
	}{{2, []float64{10}}, {1, []float64{30, 31}}} {
		got := trials[i]
		if got.Round != want.round || got.Broken != "" || len(got.Values) != len(want.values) {
			t.Fatalf("trial %d is %+v", i, got)
		}
		for k, v := range want.values {
			if got.Values[k].Value != v {
				t.Errorf("value %d of trial %d is %v, want %v", k, i, got.Values[k].Value, v)
			}
		}
	}
}

// TestTooManyRows checks that rows are counted while they are read, since each takes much more memory than its
// text.
func TestTooManyRows(t *testing.T) {
	rows := strings.NewReader("metric,better,value\n" + strings.Repeat("x,lower,1\n", importer.MostTrials+200_000))
	all := rows.Len()
	_, err := longcsv.Format.Read(importer.File{Name: "x.csv", Reader: rows})
	if err == nil || !strings.Contains(err.Error(), "the file holds more than 500000 trials or values") {
		t.Errorf("error %v", err)
	}
	if rows.Len() < all/5 {
		t.Errorf("%d of %d bytes were left", rows.Len(), all)
	}
}

// TestPaired checks that one row with paired=false suffices, and that a table without that column leaves the
// pairing to the user.
func TestPaired(t *testing.T) {
	for _, test := range []struct {
		paired   []string
		unpaired bool
	}{
		{[]string{"true", "true"}, false},
		{[]string{"", ""}, false},
		{[]string{"false", "false"}, true},
		{[]string{"", "no"}, true},
		{[]string{"0", "1"}, true},
	} {
		text := "round,metric,better,value,paired,observational\n"
		for i, paired := range test.paired {
			text += "1," + string(rune('x'+i)) + ",lower,1," + paired + ",one arm after the other\n"
		}
		trials, err := importertest.Read(longcsv.Format, "x.csv", text)
		if err != nil || len(trials) != 1 {
			t.Fatalf("%q gives %d trials, %v", test.paired, len(trials), err)
		}
		if got := trials[0]; got.Unpaired != test.unpaired || got.Broken != "" || len(got.Values) != 2 {
			t.Errorf("paired %q gives %+v", test.paired, got)
		}
	}
}
