package export

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/test/golden"
)

// schemaFile describes the analysis to those who read it as JSON. It is made from
// the types and their comments: go test ./internal/report/export -run Schema -update.
const schemaFile = "../../../docs/analysis.schema.json"

// TestSchemaIsCurrent checks that the schema has every field of the analysis, each
// with a description.
func TestSchemaIsCurrent(t *testing.T) {
	s := describer{comments: map[string]map[string]string{}, definitions: map[string]any{}, used: map[string]bool{}}
	root := s.of(reflect.TypeFor[Analysis]())
	for _, missing := range s.missing {
		t.Errorf("%s has no comment that the schema could describe it by", missing)
	}
	for name := range plainly {
		if !s.used[name] {
			t.Errorf("%s is no field of an analysis without a comment", name)
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Tare analysis",
		"description": "What tare export --as json and tare show -o json print: docs/exports.md explains it. Members may be added within a version.",
		"$ref":        root["$ref"],
		"$defs":       s.definitions,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, schemaFile, append(text, '\n'))
}

// TestSchemaHolds validates analyses, and checks that what is no analysis is
// refused.
func TestSchemaHolds(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("analysis.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("analysis.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) error {
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(instance)
	}

	whole := fixture()
	empty := whole
	empty.Analysis = analysis.Analyze(whole.Record.Plan, nil, nil)
	half := whole
	half.Analysis = analysis.Analyze(whole.Record.Plan, whole.Record.Trials[:12], nil)
	for name, r := range map[string]Run{"whole": whole, "without trials": empty, "few rounds": half} {
		if err := validate(written(t, "json", r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := written(t, "json", whole)
	for _, c := range []struct{ what, from, to string }{
		{"a verdict that is none", `"verdict": "costs"`, `"verdict": "expensive"`},
		{"a number as text", `"family": `, `"family": "", "was": `},
		{"another schema", analysis.Schema, "tare.analysis/v9"},
		{"a member renamed", `"controls":`, `"control":`},
		{"no adjusted p", `"pAdjusted"`, `"adjusted"`},
	} {
		changed := strings.Replace(good, c.from, c.to, 1)
		if changed == good {
			t.Errorf("%s: nothing is changed", c.what)
		}
		if validate(changed) == nil {
			t.Errorf("%s is accepted", c.what)
		}
	}
}

// TestSchemaTypes checks that what is written is what the types of the schema say, of a run that has one of everything.
func TestSchemaTypes(t *testing.T) {
	m := experiment.Metric{Name: "latency", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Headline: true}
	c := analysis.Comparison{Cell: "network.tcp", Arm: `rules "8"/x-2`, Metric: m, Verdict: analysis.NotResolved,
		Reason: analysis.NoControl{}, Warnings: []analysis.Finding{analysis.WeakClaim{}}}
	other := analysis.Alternative{Comparison: c, Trials: 2}
	c.WithInvalid, c.Observational = &other, true
	r := *fixture().Analysis
	r.Comparisons, r.Controls = []analysis.Comparison{c}, nil
	r.Ending, r.Reasons = &analysis.Ending{Rounds: 3, Of: 8}, []analysis.Reason{analysis.NoBaseline{}}
	r.Observation = &analysis.Observation{Baseline: "plain", Arms: []analysis.Schedule{{Arm: "a", Times: analysis.TimesApart}}}
	r.Failures = []analysis.Failures{{Verdict: analysis.Invalid, Reason: analysis.NoBaseline{}}}
	r.Warnings = []analysis.Warning{{Finding: analysis.Uncontrolled{}}}
	r.Cells = []analysis.CellSummary{{Loop: &analysis.LoopSummary{Known: true}}, {}}
	r.Scaling = []analysis.Scaling{{Factor: "objects", Metric: m, Arms: []analysis.ScalingArm{{},
		{Fit: analysis.Fit{Poor: true}, Difference: &analysis.RoundValue{}, BaseDifference: &analysis.RoundValue{}}}}}
	r.PowerLaws = []analysis.PowerLaw{{Metric: m, Arms: []analysis.PowerLawArm{{}, {Misfit: analysis.Misfit{Poor: true}}}}}
	r.Breakdowns = []analysis.Breakdown{{Factor: "rules", Metric: m, Miss: &analysis.Miss{Poor: true},
		Parts: []analysis.Part{{Comparison: c, Part: analysis.Installed, Amount: &analysis.Interval{}}}}}
	r.Published = []analysis.PublishedSource{{Source: "A page", Rows: []analysis.Published{{Metric: m, Reason: analysis.NoControl{},
		Row: experiment.PublishedRow{Arm: "a", Value: factor.Of(quantity.Amount{Limit: quantity.Limit{Number: 3, Unit: "s"}, Decimals: 1})}}}}}
	r.Factorial = &analysis.Factorial{Effects: []analysis.Effect{{Of: []string{"a"}, Over: []string{"b"}, Comparison: c}}}

	text := written(t, "json", Run{Analysis: &r})
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	var typed Analysis
	if err := in.Decode(&typed); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal([]byte(text), &want), json.Unmarshal(again, &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// constants are the values of types and fields that have a few.
var constants = map[string][]any{
	"analysis.Grade":         {"", "normal"},
	"analysis.Verdict":       {"costs", "gains", "equivalent", "fails", "not resolved", "interim", "restated", "invalid"},
	"analysis.Reading":       {"inside", "outside", "overlap", "apart"},
	"experiment.Role":        {"baseline", "control", "treatment"},
	"experiment.Better":      {"higher", "lower"},
	"experiment.Scale":       {"ratio", "difference"},
	"analysis.Run.Schema":    {analysis.Schema},
	"experiment.Plan.Schema": {"tare.plan/v1", "tare.plan/v2"},
}

// describer makes the schema of types, with what their comments say.
type describer struct {
	comments    map[string]map[string]string // by type and field, of the packages read
	definitions map[string]any
	missing     []string
	used        map[string]bool // entries of plainly
}

func nameOf(t reflect.Type) string { return packageOf(t.PkgPath()) + "." + t.Name() }

// packageOf is the name of a package in the schema.
func packageOf(path string) string {
	if path == "tare/internal/report/export" { // the types of schematypes_test.go
		return "wording"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// of gives the schema of values of a type.
func (s *describer) of(t reflect.Type) map[string]any {
	if values, ok := constants[nameOf(t)]; ok && t.Name() != "" {
		return map[string]any{"enum": values}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case factor.Is(t): // one value is written without a list
		one := s.of(t.Elem())
		return map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "integer"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		return s.reference(t)
	case reflect.Slice:
		return map[string]any{"type": []any{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return map[string]any{"type": []any{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

// nullable adds null to what is there.
func nullable(schema map[string]any) map[string]any {
	if len(schema) == 0 {
		return schema
	}
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

// reference makes the definition of a struct, once.
func (s *describer) reference(t reflect.Type) map[string]any {
	name := nameOf(t)
	if _, done := s.definitions[name]; !done {
		properties, required := map[string]any{}, []string{}
		definition := map[string]any{"type": "object", "properties": properties}
		s.definitions[name] = definition // types may hold themselves
		if text := s.comment(t, ""); text != "" {
			definition["description"] = text
		}
		s.fields(t, properties, &required, nil)
		if slices.Sort(required); len(required) > 0 {
			definition["required"] = required
		}
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// fields adds the members of a struct, those of embedded ones among them that it
// has none of the same name for. Hidden are the names of members further out.
func (s *describer) fields(t reflect.Type, properties map[string]any, required *[]string, hidden []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := hidden
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			own = append(own[:len(own):len(own)], name)
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || slices.Contains(hidden, name):
			continue
		case f.Anonymous && name == "":
			s.fields(f.Type, properties, required, own)
			continue
		case name == "":
			name = f.Name
		}
		schema := s.of(f.Type)
		if values, ok := constants[nameOf(t)+"."+f.Name]; ok {
			schema = map[string]any{"enum": values}
		}
		member := map[string]any{}
		for k, v := range schema {
			member[k] = v
		}
		member["description"] = s.describe(t, f)
		properties[name] = member
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}

// comment gives what the source says of a type, or of one of its fields.
func (s *describer) comment(t reflect.Type, field string) string {
	if _, read := s.comments[nameOf(t)]; !read {
		s.read(t.PkgPath())
	}
	return s.comments[nameOf(t)][field]
}

// describe says what a field is: by its own comment or tag, by plainly, or by what its
// type is said to be.
func (s *describer) describe(t reflect.Type, f reflect.StructField) string {
	name := nameOf(t) + "." + f.Name
	if text := s.comment(t, f.Name); text != "" {
		return text
	}
	if text := f.Tag.Get("doc"); text != "" {
		return text
	}
	if text, ok := plainly[name]; ok {
		s.used[name] = true
		return text
	}
	inner := f.Type
	for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
		inner = inner.Elem()
	}
	text := ""
	if strings.HasPrefix(inner.PkgPath(), "tare/") {
		text = s.comment(inner, "")
	}
	if text == "" {
		s.missing = append(s.missing, name)
	}
	return text
}

// read takes up the comments of a package of this module.
func (s *describer) read(path string) {
	files, err := filepath.Glob("../../../" + strings.TrimPrefix(path, "tare/") + "/*.go")
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("no source of %s: %v", path, err))
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		for _, d := range parsed.Decls {
			if general, ok := d.(*ast.GenDecl); ok && general.Tok == token.TYPE {
				s.types(packageOf(path), general)
			}
		}
	}
}

func (s *describer) types(pkg string, general *ast.GenDecl) {
	for _, spec := range general.Specs {
		spec := spec.(*ast.TypeSpec)
		texts := map[string]string{"": sentence(general.Doc, spec.Doc)}
		s.comments[pkg+"."+spec.Name.Name] = texts
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range structure.Fields.List {
			for _, name := range f.Names {
				texts[name.Name] = sentence(f.Doc, f.Comment)
			}
		}
	}
}

// sentence joins comments into one line.
func sentence(groups ...*ast.CommentGroup) string {
	var all []string
	for _, g := range groups {
		all = append(all, strings.Fields(g.Text())...)
	}
	return strings.Join(all, " ")
}
