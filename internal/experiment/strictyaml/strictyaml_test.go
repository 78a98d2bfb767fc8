package strictyaml

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/test/hinttest"
)

type mode string

func (mode) Values() []string { return []string{"fast", "slow"} }

type shared struct {
	Label string `yaml:"label"`
}

// everything has a field of every supported kind.
type everything struct {
	shared
	Text    string                                     `yaml:"text"`
	Whole   int                                        `yaml:"whole" min:"-5" max:"10"`
	Natural uint8                                      `yaml:"natural"`
	Float   float64                                    `yaml:"float" above:"0" below:"1"`
	Yes     bool                                       `yaml:"yes"`
	Mode    mode                                       `yaml:"mode"`
	Word    string                                     `yaml:"word" enum:"a,b"`
	Name    string                                     `yaml:"name" pattern:"^[a-z]+$" form:"lower-case letters"`
	Size    quantity.Size                              `yaml:"size" min:"1KiB"`
	Maybe   *int                                       `yaml:"maybe" none:"true"`
	Part    *part                                      `yaml:"part"`
	List    []string                                   `yaml:"list"`
	Parts   []part                                     `yaml:"parts"`
	Map     map[string]quantity.Percent                `yaml:"map"`
	Levels  factor.Levels[int]                         `yaml:"levels" min:"1"`
	Nested  map[string][]map[string]factor.Levels[int] `yaml:"nested"`
	Doc     Document                                   `yaml:"doc"`
	Other   string                                     `yaml:"other" also:"otherName"`
	Command commandLine                                `yaml:"command"`
	Limit   *limit                                     `yaml:"limit"`
	Untold  int
}

type limit struct {
	Share  quantity.Percent  `yaml:"share" max:"100%"`
	Within quantity.Duration `yaml:"within" required:"true" alone:"true" doc:"the time"`
}

type commandLine []string

func (commandLine) Words(text string) []string { return strings.Fields(text) }

type part struct {
	Key   string `yaml:"key" required:"true" doc:"what it is"`
	Value int    `yaml:"value"`
}

// decode decodes a text. It returns the value and the problems, each in one line.
func decode(text string) (everything, []string) {
	v := everything{Whole: 3, List: []string{"default"}, Part: &part{Value: 7}}
	f := Read("f.yaml", []byte(text))
	if f.Root != nil {
		f.Decode(f.Root, "", &v)
	}
	var problems []string
	for _, p := range f.Problems() {
		line := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Message)
		if p.Hint != "" {
			line += " | " + p.Hint
		}
		problems = append(problems, line)
	}
	return v, problems
}

func TestDecode(t *testing.T) {
	base := everything{Whole: 3, List: []string{"default"}, Part: &part{Value: 7}}
	with := func(change func(*everything)) everything { v := base; change(&v); return v }
	five := 5
	for _, c := range []struct {
		text string
		want everything
	}{
		{"text: 3", with(func(v *everything) { v.Text = "3" })},
		{"text: 0x10", with(func(v *everything) { v.Text = "0x10" })},
		{"text: yes", with(func(v *everything) { v.Text = "yes" })},
		{"text: 'it''s'", with(func(v *everything) { v.Text = "it's" })},
		{"text: |\n  a\n  b\n", with(func(v *everything) { v.Text = "a\nb\n" })},
		{"text: >-\n  a\n  b\n", with(func(v *everything) { v.Text = "a b" })},
		{"text: a # b", with(func(v *everything) { v.Text = "a" })},
		{"\ufefftext: a\r\nlabel: b\r\n", with(func(v *everything) { v.Text = "a"; v.Label = "b" })},
		{"%YAML 1.2\n---\ntext: a\n...\n", with(func(v *everything) { v.Text = "a" })},
		{"'text': a", with(func(v *everything) { v.Text = "a" })},
		{"whole: -5", with(func(v *everything) { v.Whole = -5 })},
		{"float: 0.25", with(func(v *everything) { v.Float = 0.25 })},
		{"yes: true", with(func(v *everything) { v.Yes = true })},
		{"mode: slow", with(func(v *everything) { v.Mode = "slow" })},
		{"word: b", with(func(v *everything) { v.Word = "b" })},
		{"size: 64KiB", with(func(v *everything) { v.Size = 65536 })},
		{"maybe: 5", with(func(v *everything) { v.Maybe = &five })},
		{"maybe: none", base},
		{"limit: 5s", with(func(v *everything) { v.Limit = &limit{0, quantity.Duration(5 * time.Second)} })},
		{"limit: {share: 25%, within: 5s}", with(func(v *everything) { v.Limit = &limit{0.25, quantity.Duration(5 * time.Second)} })},
		{"part: {key: k}", with(func(v *everything) { v.Part = &part{Key: "k", Value: 7} })},
		{"list: []", with(func(v *everything) { v.List = []string{} })},
		{"list: [a, 1]", with(func(v *everything) { v.List = []string{"a", "1"} })},
		{"parts: [{key: a}, {key: b, value: 1}]", with(func(v *everything) { v.Parts = []part{{Key: "a"}, {Key: "b", Value: 1}} })},
		{"map: {a: 50%}", with(func(v *everything) { v.Map = map[string]quantity.Percent{"a": 0.5} })},
		{"levels: 4", with(func(v *everything) { v.Levels = factor.Of(4) })},
		{"levels: [4, 2]", with(func(v *everything) { v.Levels = factor.Of(4, 2) })},
		{"levels:\n- 4\n", with(func(v *everything) { v.Levels = factor.Of(4) })},
		{"list: [a]\nx-any: &a {b: [c, c]}\n", with(func(v *everything) { v.List = []string{"a"} })},
		{"otherName: a", with(func(v *everything) { v.Other = "a" })},
		{"doc: 'a: b'", with(func(v *everything) { v.Doc = "a: b" })},
		{"doc: {}", with(func(v *everything) { v.Doc = "{}\n" })},
		{"doc: {a: yes, b: \"yes\", c: [1, {d: $(n), e: 'x: y'}, []], 'f g': , <<: {h: 0644}}", with(func(v *everything) {
			v.Doc = "a: yes\nb: \"yes\"\nc:\n  - 1\n  -\n    d: $(n)\n    e: \"x: y\"\n  - []\n\"f g\": null\nh: 0644\n"
		})},
		{"doc: [{a: 1}, {b: 2}]", with(func(v *everything) { v.Doc = "a: 1\n---\nb: 2\n" })},
		{"text: &t hello\nlabel: *t", with(func(v *everything) { v.Text, v.Label = "hello", "hello" })},
		{"parts:\n- &a {key: a, value: 1}\n- *a\n- {<<: *a, value: 2}\n- {<<: [{value: 3}, *a]}", with(func(v *everything) {
			v.Parts = []part{{"a", 1}, {"a", 1}, {"a", 2}, {"a", 3}}
		})},
	} {
		got, problems := decode(c.text)
		if problems != nil {
			t.Errorf("%s\ngives problems: %v", c.text, problems)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(everything{})); diff != "" {
			t.Errorf("%s\ndiffers (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"whole: x\nyes: maybe\n", []string{`1:8 whole is "x"; expected a whole number`, `2:6 yes is "maybe"; expected true or false`}},
		{"whole: '1.5'", []string{`1:8 whole is "1.5"; expected a whole number`}},
		{"whole: '5'", []string{`1:8 whole is "5"; expected a whole number | write it without quotes`}},
		{"whole: 1.5", []string{"1:8 whole is 1.5; expected a whole number"}},
		{"whole: 1_000", []string{"1:8 whole is 1_000; expected a whole number"}},
		{"whole: 99999999999999999999", []string{`1:8 whole is "99999999999999999999"; expected a whole number`}},
		{"whole: [", []string{"1:8 the list that opens here is not closed | write ]"}},
		{"part: {key: a", []string{"1:7 the map that opens here is not closed | write }"}},
		{"text: a\n  whole: 1\n", []string{"1:7 a second key: value cannot begin here | check the indentation, or put a value that contains a colon in quotes"}},
		{"text: \"a\\qb\"", []string{"1:10 not valid YAML: found unknown escape character 'q'"}},
		{"whole: -6", []string{"1:8 whole is -6; it must be at least -5"}},
		{"whole: 11", []string{"1:8 whole is 11; it must be at most 10"}},
		{"natural: 256", []string{"1:10 natural is 256; expected a whole number, 0 or more"}},
		{"float: .inf", []string{"1:8 float is .inf; expected a number"}},
		{"float: .nan", []string{"1:8 float is .nan; expected a number"}},
		{"float: 1", []string{"1:8 float is 1; it must be below 1"}},
		{"float: 0", []string{"1:8 float is 0; it must be above 0"}},
		{"yes: 'true'", []string{`1:6 yes is "true"; expected true or false | write it without quotes`}},
		{"whole:", []string{"1:1 whole has no value; expected a whole number | give a value, or leave the line out"}},
		{"whole: ~", []string{"1:1 whole has no value; expected a whole number | give a value, or leave the line out"}},
		{"limit: 5", []string{"1:8 limit is 5; expected a duration such as 500ms, 3s or 2m | add a unit: h, m, s, ms, us, ns"}},
		{"limit: {share: 101%}", []string{"1:8 within is missing in limit | within: the time", "1:16 share is 101%; it must be at most 100%"}},
		{"limit: [5s]", []string{"1:8 limit is a list; expected a duration such as 500ms, 3s or 2m, or a map of share, within"}},
		{"mode: fsat", []string{`1:7 mode is "fsat"; expected one of fast, slow | did you mean fast?`}},
		{"name:", []string{"1:1 name has no value; expected lower-case letters | give a value, or leave the line out"}},
		{"name: 12", []string{"1:7 name is 12; expected lower-case letters"}},
		{"name: true", []string{"1:7 name is true; expected lower-case letters | write it in quotes"}},
		{"size: 4k", []string{`1:7 size is "4k"; expected a size such as 64KiB, 1MiB or 1500B | did you mean 4KiB?`}},
		{"size: 1k", []string{`1:7 size is "1k"; expected a size such as 64KiB, 1MiB or 1500B | did you mean 1KiB?`}},
		{"size: 4  KiB", []string{`1:7 size is "4  KiB"; expected a size such as 64KiB, 1MiB or 1500B | did you mean 4KiB?`}},
		{"size: 9q", []string{`1:7 size is "9q"; expected a size such as 64KiB, 1MiB or 1500B | known units: TiB, GiB, MiB, KiB, TB, GB, MB, kB, B`}},
		{"other: a\notherName: b", []string{"2:1 other is given twice | it was first given in line 1"}},
		{"x-a: 1\npart: {key: a, x-b: 1}", []string{`2:16 unknown field "x-b" in part | fields here: key, value`}},
		{"doc: 3", []string{"1:6 doc is 3; expected YAML, as text or as a map"}},
		{"doc: [{a: 1}, b]", []string{`1:15 doc[1] is "b"; expected YAML, as text or as a map`}},
		{"part: {key: }", []string{"1:8 key has no value; expected text | key: what it is"}},
		{"size: 12", []string{"1:7 size is 12; expected a size such as 64KiB, 1MiB or 1500B | add a unit: TiB, GiB, MiB, KiB, TB, GB, MB, kB, B"}},
		{"size: 12Kib", []string{`1:7 size is "12Kib"; expected a size such as 64KiB, 1MiB or 1500B | did you mean 12KiB?`}},
		{"size: 12B", []string{"1:7 size is 12B; it must be at least 1KiB"}},
		{"map: {a: 5}", []string{"1:10 a is 5; expected a percentage such as 2% or 0.5% | did you mean 5%?"}},
		{"map: {a: 5%, a: 6%}", []string{"1:14 a is given twice | it was first given in line 1"}},
		{"part: {}", []string{"1:7 key is missing in part | key: what it is"}},
		{"part:", []string{"1:1 key is missing in part | key: what it is"}},
		{"part: [a]", []string{"1:7 part is a list; expected a map of key, value"}},
		{"parts: {key: a}", []string{"1:8 parts is a map; expected a list | begin each item with a dash"}},
		{"list: a", []string{`1:7 list is "a"; expected a list | write it in brackets: [a]`}},
		{"list: [a, , b]", []string{"1:11 a value is missing between two commas"}},
		{"list:\n- a\n-\n", []string{"2:1 list[1] is empty; expected text"}},
		{"levels: []", []string{"1:9 levels is an empty list; expected at least one value | leave the line out for the default"}},
		{"levels: [2, 1, 2]", []string{"1:16 levels lists 2 twice | every level is run once per round"}},
		{"levels: [0, 0]", []string{"1:10 levels[0] is 0; it must be at least 1", "1:13 levels[1] is 0; it must be at least 1"}},
		{"Text: a", []string{`1:1 unknown field "Text" | did you mean text? fields here: ` + strings.Join(Names(fieldsOfEverything()), ", ")}},
		{"text: a\ntxt: b", []string{`2:1 unknown field "txt" | fields here: ` + strings.Join(Names(fieldsOfEverything()), ", ")}},
		{"list: a, b", []string{`1:7 list is "a, b"; expected a list | write it in brackets: [a, b]`}},
		{"list: 'true'", []string{`1:7 list is "true"; expected a list | write it in brackets: ["true"]`}},
		{"list: '[a'", []string{`1:7 list is "[a"; expected a list | write it in brackets: ["[a"]`}},
		{"command: echo --now a:b", []string{`1:10 command is "echo --now a:b"; expected a list | write it in brackets: [echo, --now, "a:b"]`}},
		{"part: {key: a, vlaue: 1}", []string{`1:16 unknown field "vlaue" in part | did you mean value? fields here: key, value`}},
		{"text: !!str a", []string{"1:7 tags such as !!str are not used here"}},
		{"? text\n: a", []string{"1:1 keys written with ? are not used here"}},
		{"text: *a", []string{"1:7 no &a is defined above"}},
		{"list: &a [*a]", []string{"1:11 *a stands inside its own definition"}},
		{"part: {<<: 3}", []string{"1:8 << takes a map, or a list of maps"}},
		{"text: a\n---\ntext: b\n", []string{"2:1 a second document begins here; a file holds one | put it into a file of its own"}},
		{"text: a\n---\n", []string{"2:1 the document that begins here is empty; a file holds one | take the --- out"}},
		{"---\n# nothing\n---\ntext: a\n", []string{"1:1 the file is empty"}},
		{"text: a\n--- # nothing\n---\n", []string{"2:1 the document that begins here is empty; a file holds one | take the --- out"}},
		{`list: ["echo \0"]`, []string{"1:8 the text has a zero byte, which no argument, name or variable can hold"}},
		{`"a\x00": b`, []string{"1:1 the text has a zero byte, which no argument, name or variable can hold"}},
		{"", []string{"1:1 the file is empty"}},
		{"# nothing\n---\n", []string{"1:1 the file is empty"}},
		{"text: a\x00b", []string{"1:8 control character U+0000 is not allowed"}},
		{"text: \xff", []string{"1:7 byte 0xff is not UTF-8 text | save the file as UTF-8"}},
		{"\xff\xfet\x00", []string{"1:1 the file is UTF-16 | save it as UTF-8"}},
		{"text: \"a\n", []string{"1:7 the quote that opens here is not closed | close it on the same line"}},
		{"text: a: b", []string{"1:7 a second key: value cannot begin here | check the indentation, or put a value that contains a colon in quotes"}},
		{"text: @a", []string{"1:7 a value cannot begin with this character | put the value in quotes"}},
		{"text:a\nwhole: 1", []string{"1:1 a key needs a colon and a space behind it | write key: value"}},
		{"ä: 1\nword: 'ö' ", []string{
			`1:1 unknown field "ä" | fields here: ` + strings.Join(Names(fieldsOfEverything()), ", "),
			`2:7 word is "ö"; expected one of a, b`,
		}},
		{strings.Repeat("[", 65), []string{"1:65 brackets nest deeper than 64"}},
		{strings.Repeat("- ", 65) + "a", []string{"1:131 values nest deeper than 64"}},
		{strings.Repeat(" ", 1000) + "text: a", []string{"1:1005 nothing may begin beyond column 1000"}},
		{strings.Repeat("#", maxBytes+1), []string{"1:1 the file has 262145 bytes; at most 262144 are read"}},
	} {
		_, problems := decode(c.text)
		helpful(t, c.text)
		if diff := cmp.Diff(c.want, problems); diff != "" {
			t.Errorf("%.80q\nproblems differ (-want +got):\n%s", c.text, diff)
		}
	}
}

// helpful checks that a file with the suggested text of a hint is read without the problem.
func helpful(t *testing.T, text string) {
	t.Helper()
	file := Read("f.yaml", []byte(text))
	if file.Root == nil {
		return
	}
	file.Decode(file.Root, "", new(everything))
	for _, p := range file.Problems() {
		n, exact := file.find(p.Path)
		ofKey := strings.HasPrefix(p.Message, "unknown field")
		if exact && ofKey {
			n = n.Key
		}
		followed, was := hinttest.Follow(text, p.Line, p.Column, p.Hint, ofKey)
		if !exact || was == "" || was != n.Value && !n.Quoted {
			continue // the hint suggests no text, or the position holds more, such as an alias
		}
		again := Read("f.yaml", []byte(followed))
		if again.Root != nil {
			again.Decode(again.Root, "", new(everything))
		}
		for _, q := range again.Problems() {
			if q.Path == p.Path || ofKey && q.Line == p.Line && q.Column == p.Column && strings.Contains(q.Message, "unknown field") {
				t.Errorf("%s\n%s\nthe hint %q leads to\n%s\nin which %s", text, p.Message, p.Hint, followed, q.Message)
			}
		}
	}
}

// TestManyProblems checks that the number of problems is limited, and that the file reports when it exceeds the
// limit.
func TestManyProblems(t *testing.T) {
	_, problems := decode("list: [" + strings.Repeat("{}, ", 200) + "]")
	if len(problems) != 101 || problems[100] != "1:404 more problems follow; only the first 100 are shown" {
		t.Errorf("%d problems, the last: %s", len(problems), problems[len(problems)-1])
	}
}

// TestAliasesGrow checks that aliases cannot make a huge value of a small file.
func TestAliasesGrow(t *testing.T) {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	_, problems := decode(text)
	if len(problems) != 1 || !strings.Contains(problems[0], "the file has more than 100000 values") {
		t.Errorf("problems: %v", problems)
	}
}

// TestPrinting checks the excerpt, tabs, long lines and control characters.
func TestPrinting(t *testing.T) {
	for _, c := range []struct {
		problem Problem
		want    string
	}{
		{
			Problem{File: "f.yaml", Line: 2, Column: 3, Message: "bad", Hint: "do better", Source: "ä: x"},
			"f.yaml:2:3: bad\n    ä: x\n      ^\n    do better",
		},
		{
			Problem{File: "f\x1b.yaml", Line: 1, Column: 4, Message: "a\x1b[31mb", Source: "a\t\x1bb"},
			"f\uFFFD.yaml:1:4: a\uFFFD[31mb\n    a\t\uFFFDb\n     \t ^",
		},
		{
			Problem{File: "f", Line: 1, Column: 201, Message: "far", Source: strings.Repeat("a", 200) + "b" + strings.Repeat("c", 200)},
			"f:1:201: far\n    …" + strings.Repeat("a", 60) + "b" + strings.Repeat("c", 39) + "…\n    " + strings.Repeat(" ", 61) + "^",
		},
		{Problem{File: "f", Line: 1, Column: 1, Message: "empty"}, "f:1:1: empty"},
	} {
		if diff := cmp.Diff(c.want, c.problem.String()); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"wireguard", "env", "link", "wrap", "rounds", "maxRounds", "tcp", "udp", "pod-to-pod", "pod-to-service"}
	for word, want := range map[string]string{
		"wiregaurd": "wireguard", "wire-guard": "wireguard", "WireGuard": "wireguard", "round": "rounds",
		"max_rounds": "maxRounds", "environment": "env", "links": "link", "upd": "udp", "pod-to-svc": "pod-to-service",
		"xyz": "", "": "", "fscrypt": "", strings.Repeat("w", 1000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20s is nearest to %q, want %q", word, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	five := 5
	v := everything{
		shared: shared{Label: "l"}, Whole: 3, Mode: "fast", Size: 1024, Maybe: &five, Part: &part{Key: "k"},
		List: []string{"a"}, Map: map[string]quantity.Percent{"m": 0.5}, Levels: factor.Of(4), Untold: 9,
	}
	want := map[string]any{
		"label": "l", "whole": 3, "natural": uint8(0), "float": 0.0, "yes": false, "mode": "fast", "size": "1KiB",
		"maybe": 5, "part": map[string]any{"key": "k", "value": 0}, "list": []any{"a"},
		"map": map[string]any{"m": "50%"}, "levels": 4,
	}
	if diff := cmp.Diff(any(want), Plain(&v)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// FuzzDecode checks that no input makes the decoder panic, and that every problem has a position inside the
// file.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"text: a\nwhole: 1\n", "list: [a, {b: c}]\n", "parts:\n- key: a\n  value: 2\n", "map: {a: 5%}", "levels: [1, 2]",
		"a: &a [*a]\n<<: *a\n", "text: |\n  a\n\n  b\n", "part: {<<: {key: a}}", "\"\\x41\": 'a'\r\n", "- - ? a\n", "%YAML 1.2\n---\n...\n",
		"nested: {a: [{b: [1, 1]}]}", "text: \xff", "\tx: 1", "a: b: c", "? [a]\n: b", "text: !!binary a", "a:\n  b\n c: d", "*a : b", "&a a: *a",
	} {
		f.Add(seed)
	}
	for _, seed := range []string{"size: 4k", "whole: '5'", "list: a b, c", "command: a 'b'", "yes: 'false'", "mode: Slow", "map: {a: 5}", "name: no", "doc: {a: [b, {c: 'd'}], e: |\n x}", "lisst: [a]\nlist: [b]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := Read("f.yaml", []byte(text))
		var v everything
		if file.Root != nil {
			file.Decode(file.Root, "", &v)
			file.ReportAt("parts[0].key", "asked", "")
			file.ReportKey("map.a", "asked", "")
		} else if len(file.Problems()) == 0 {
			t.Error("nothing was read, and no problem found")
		}
		read := strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\r", "\n")
		helpful(t, read)
		sameDocument(t, file)
		lines := strings.Split(read, "\n")
		for _, p := range file.Problems() {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(p.Source))+1 {
				t.Errorf("%d:%d is outside of %q", p.Line, p.Column, text)
			}
			_ = p.String()
		}
		Plain(v)
	})
}

// sameDocument checks that a map that is written as a document is read as the same map.
func sameDocument(t *testing.T, file *File) {
	t.Helper()
	if file.Root == nil || file.Root.Form != Map {
		return
	}
	for _, e := range file.Root.Entries {
		if e.Value.Form != Map {
			continue
		}
		v := reflect.New(documentType).Elem()
		file.document(e.Value, "", v)
		again := Read("again.yaml", []byte(v.String()))
		if again.Root == nil {
			t.Fatalf("%s\nis no YAML: %v", v.String(), again.Problems())
		}
		if diff := cmp.Diff(shape(e.Value), shape(again.Root)); diff != "" {
			t.Fatalf("%s\ndiffers (-given +written):\n%s", v.String(), diff)
		}
	}
}

// shape returns a node without its position.
func shape(n *Node) any {
	switch n.Form {
	case Map:
		list := []any{}
		for _, e := range n.Entries {
			list = append(list, []any{shape(e.Key), shape(e.Value)})
		}
		return list
	case List:
		list := []any{"list"}
		for _, item := range n.Items {
			list = append(list, shape(item))
		}
		return list
	case Null:
		return nil
	}
	return fmt.Sprint(n.Form, n.Value)
}

func fieldsOfEverything() []Field { return Fields(reflect.TypeFor[everything]()) }
