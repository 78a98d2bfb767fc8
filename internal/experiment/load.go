package experiment

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
	"tare/internal/text/input"
)

// Problems are all errors in a file. The error of Load is a *Problems.
type Problems = strictyaml.Problems

// Load reads an experiment file. The error of a faulty file is a *Problems that lists every problem. Otherwise the
// experiment has all its defaults, and Expand accepts it.
func Load(name string, data []byte, kinds Kinds) (*Experiment, error) {
	l := loader{name: name, file: strictyaml.Read(name, data), kinds: kinds, files: map[string][]byte{}}
	x := defaults()
	if root := l.file.Root; root != nil {
		l.file.Custom = map[reflect.Type]func(*strictyaml.Node, string, reflect.Value){
			reflect.TypeFor[Testbed]():      l.testbed,
			reflect.TypeFor[LayerItem]():    l.layer,
			reflect.TypeFor[WorkloadItem](): l.workload,
			reflect.TypeFor[Factor]():       l.factor,
		}
		l.file.Decode(root, "", &x)
		x.given = given(root)
		l.parameters(data)
		l.validate(&x)
	}
	if !kinds.Recorded {
		l.secrets(x.Allow)
	}
	if problems := l.file.Problems(); len(problems) > 0 {
		return nil, &problems
	}
	x.Files = l.files
	return &x, nil
}

type loader struct {
	name  string
	file  *strictyaml.File
	kinds Kinds
	files map[string][]byte // content of the files that configs name; the key is the name in the experiment file
}

// defaultRounds is the number of rounds if the file sets none: enough for a useful exact interval of 95 %.
const defaultRounds = 12

// defaults returns an experiment that holds only the defaults. The default number of rounds is set after the file is
// decoded.
func defaults() Experiment {
	return Experiment{
		Testbed: Testbed{Local: defaultLocal()},
		Design: design{
			Stop: StopPlanned, Pilot: 8, MaxRounds: 60, Attempts: 3,
			Confidence: 0.95, Equivalence: 0.02, Power: 0.80,
		},
		Limits: Limits{
			Errors: new(quantity.Percent(0)), ForeignCPU: new(quantity.Percent(0.20)), Steal: new(quantity.Percent(0.05)),
			Throttling: new(0), Late: new(quantity.Percent(1)), InvalidTrials: new(quantity.Percent(0.20)),
		},
	}
}

// defaultLocal returns the local testbed without a rate of the wire. Expand sets the rate by the resource that the
// workload measures (Declaration.Tests).
func defaultLocal() *Local { return &Local{Link: Link{MTU: factor.Of(1500)}} }

// testbed decodes the field testbed. Its value is a testbed's name, or a map with one entry: the name and the testbed's
// parameters.
func (l *loader) testbed(n *strictyaml.Node, path string, v reflect.Value) {
	names := strictyaml.Names(strictyaml.Fields(v.Type()))
	kind, params, ok := l.choose(n, path, "testbed", names, nil)
	if !ok {
		return
	}
	chosen := Testbed{Local: defaultLocal()}
	if kind == TestbedKubernetes {
		chosen = Testbed{Kubernetes: NewKubernetes()}
	}
	at := strictyaml.Join(path, kind)
	l.file.Decode(params, at, chosen.Level())
	if chosen.Kubernetes != nil {
		l.report(at, chosen.Kubernetes.validate())
	}
	v.Set(reflect.ValueOf(chosen))
}

func (l *loader) layer(n *strictyaml.Node, path string, v reflect.Value) {
	kind, params, ok := l.choose(n, path, "layer", slices.Sorted(maps.Keys(l.kinds.Layers)), nil)
	if !ok {
		return
	}
	config := l.kinds.Layers[kind]()
	l.config(params, strictyaml.Join(path, kind), config)
	v.Set(reflect.ValueOf(LayerItem{Kind: kind, Config: config}))
}

// workload decodes an item of the workloads. The item may have a name and a label beside the workload's kind.
func (l *loader) workload(n *strictyaml.Node, path string, v reflect.Value) {
	kind, params, ok := l.choose(n, path, "workload", slices.Sorted(maps.Keys(l.kinds.Workloads)), []string{"name", "label"})
	if !ok {
		return
	}
	// Name and Label are the only fields of a WorkloadItem with yaml tags.
	var beside struct{ WorkloadItem }
	beside.WorkloadItem = WorkloadItem{Name: kind, Kind: kind, Config: l.kinds.Workloads[kind]()}
	own := *n
	if own.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e strictyaml.Entry) bool { return e.Key.Value == kind }); len(own.Entries) > 0 {
		l.file.Decode(&own, path, &beside)
	}
	item := beside.WorkloadItem
	l.config(params, strictyaml.Join(path, kind), item.Config)
	v.Set(reflect.ValueOf(item))
}

// config decodes the parameters of a layer or workload. The layer or workload then reads the files that it names, and
// checks its parameters.
func (l *loader) config(params *strictyaml.Node, path string, config LayerConfig) {
	l.file.Decode(params, path, config)
	if d := config.Declare(); d.Fill != nil {
		d.Fill(func(field string) bool { return params.Get(field) != nil })
	}
	d := config.Declare()
	if d.ReadFiles != nil {
		l.report(path, d.ReadFiles(l.read))
	}
	if d.Validate != nil {
		l.report(path, d.Validate())
	}
}

// report reports the errors of fields below a path. A field that already has a problem gets no further one.
func (l *loader) report(path string, errs []FieldError) {
	for _, e := range errs {
		if at := strictyaml.Join(path, e.Field); !l.file.Troubled(at) {
			l.file.ReportAt(at, e.Message, "")
		}
	}
}

// MaxFile is the largest size, in bytes, of a file that an experiment file names.
const MaxFile = 256 << 10

// read reads a file that a config names, and keeps its content. Without kinds.Read, a relative name starts at the
// experiment file's directory.
func (l *loader) read(name string) (data []byte, err error) {
	if data, known := l.files[name]; known {
		return data, nil
	}
	switch {
	case l.kinds.Read != nil:
		data, err = l.kinds.Read(name)
	case filepath.IsAbs(name):
		data, err = input.ReadAtMost(name, MaxFile)
	default:
		data, err = input.ReadAtMost(filepath.Join(filepath.Dir(l.name), name), MaxFile)
	}
	if err == nil {
		l.files[name] = data
	}
	return data, err
}

// choose decodes a kind, or a map of the kind to its parameters (without any: a Null node). beside lists further keys
// that the map may have.
func (l *loader) choose(n *strictyaml.Node, path, what string, kinds, beside []string) (kind string, params *strictyaml.Node, ok bool) {
	if n.Form == strictyaml.Text {
		if !slices.Contains(kinds, n.Value) {
			l.file.Report(n, path, fmt.Sprintf("unknown %s %q", what, n.Value), l.unknown(what, n.Value, kinds))
			return "", nil, false
		}
		return n.Value, &strictyaml.Node{Form: strictyaml.Null, Line: n.Line, Column: n.Column}, true
	}
	if n.Form != strictyaml.Map {
		l.file.Report(n, path, fmt.Sprintf("expected a %s", what),
			fmt.Sprintf("write the kind of %s as a key: %s", what, strings.Join(kinds, ", ")))
		return "", nil, false
	}
	var chosen *strictyaml.Entry
	var strange []strictyaml.Entry
	for i, e := range n.Entries {
		switch {
		case slices.Contains(beside, e.Key.Value):
		case chosen == nil && slices.Contains(kinds, e.Key.Value):
			chosen = &n.Entries[i]
		default:
			strange = append(strange, e)
		}
	}
	for i, e := range strange {
		if chosen != nil || i == 0 {
			l.strange(e, chosen, path, what, kinds)
		}
	}
	if chosen == nil {
		if len(strange) == 0 {
			l.file.Report(n, path, fmt.Sprintf("the %s has no kind", what), strictyaml.Suggest("", "known "+what+"s", kinds))
		}
		return "", nil, false
	}
	return chosen.Key.Value, chosen.Value, true
}

// strange reports a wrong key in an item that names a kind, such as a layer. The key is unknown, or it names a second
// kind.
func (l *loader) strange(e strictyaml.Entry, chosen *strictyaml.Entry, path, what string, kinds []string) {
	key := e.Key.Value
	var message, hint string
	switch {
	case chosen == nil:
		message, hint = fmt.Sprintf("unknown %s %q", what, key), l.unknown(what, key, kinds)
	case slices.Contains(kinds, key):
		message, hint = fmt.Sprintf("a second %s, %s, in the same item", what, key), "begin a new item with -"
		if what == "testbed" {
			hint = "an experiment has one testbed"
		}
	default:
		message = fmt.Sprintf("unexpected %q beside the %s %s", key, what, chosen.Key.Value)
		if chosen.Value.Form == strictyaml.Null {
			hint = fmt.Sprintf("a parameter of %s is indented further than %s itself", chosen.Key.Value, chosen.Key.Value)
		}
	}
	l.file.Report(e.Key, strictyaml.Join(path, key), message, hint)
}

func (l *loader) unknown(what, word string, kinds []string) string {
	if l.kinds.Elsewhere != nil && strictyaml.Nearest(word, kinds) == "" {
		if where := l.kinds.Elsewhere(what, word); where != "" {
			return where + "; tare list " + what + "s names all"
		}
	}
	return strictyaml.Suggest(word, "known "+what+"s", kinds)
}
