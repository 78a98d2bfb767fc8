package draft

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/text/safetext"
)

// comparison is the request of a command line: several programs, or one program without and with layers.
//
//	tare run -- 'gzip -1 -k -f big' 'zstd -1 -k -f big'
//	tare run --layer bubblewrap -- ./bench --fast
type comparison struct {
	Line     string // the command line, for the file's first line
	Programs []Program
	Layers   []string // texts that the user typed: the name of a layer, a layer as in a file, or a command that wraps the program
	Allow    []string // the aspects in which programs may differ from the first program (experiment.Aspect)
}

// Program is a program to measure: a text for the shell, or a command that starts without a shell.
type Program struct {
	Name  string   // name that the user gave to the program's arm; "": the user gave none
	Args  []string // the words of the command; none if a shell reads the text
	Shell string   // text for the shell; "" if all programs of the experiment start without a shell
}

// String returns the program as the user wrote it.
func (p Program) String() string { return cmp.Or(strings.Join(p.Args, " "), p.Shell) }

// Start returns the command line that starts the program: its arguments, or /bin/sh with its shell text.
func (p Program) Start() []string {
	if p.Shell != "" {
		return []string{"/bin/sh", "-c", p.Shell}
	}
	return p.Args
}

var named = regexp.MustCompile(`^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)=(.*)$`)

// Named reports whether an argument has the form NAME=PROGRAM, such as fast=gzip.
func Named(arg string) bool { return named.MatchString(arg) }

// Parse reads the programs of a command line. Each argument is one, as PROGRAM or NAME=PROGRAM. With layers, several
// arguments are one program's command.
func Parse(line string, args, layers []string) (*comparison, error) {
	a := &comparison{Line: line, Layers: layers}
	if len(layers) > 0 && len(args) > 1 {
		a.Programs = []Program{{Args: args}}
	} else {
		for _, arg := range args {
			name := ""
			if m := named.FindStringSubmatch(arg); m != nil {
				name, arg = m[1], m[2]
			}
			p, err := program(arg)
			if err != nil {
				return nil, err
			}
			p.Name = name
			a.Programs = append(a.Programs, p)
		}
	}
	// If one program needs a shell, a shell starts every program. All times then include the start of a shell.
	if slices.ContainsFunc(a.Programs, func(p Program) bool { return p.Shell != "" }) {
		for i, p := range a.Programs {
			a.Programs[i].Shell = cmp.Or(p.Shell, "exec "+p.String())
		}
	}
	switch n := len(a.Programs); {
	case n == 0:
		return nil, errors.New("no program is given")
	case n == 1 && len(layers) == 0:
		return nil, errors.New("one program has nothing to be compared with")
	}
	return a, nil
}

// forShell matches text that has a special meaning in a shell.
var forShell = regexp.MustCompile("[^A-Za-z0-9 %+,./:=@_-]|(?:^|[ :=])[~]|^[A-Za-z_0-9]+=")

// program reads a program from one argument.
func program(text string) (Program, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return Program{}, errors.New("a program is empty")
	case strings.ContainsRune(text, 0):
		return Program{}, errors.New("a program holds a zero byte")
	case forShell.MatchString(text):
		return Program{Shell: text}, nil
	}
	return Program{Args: words}, nil
}

// Numbers that keep a run short.
const (
	mostRounds  = 20
	rounds      = 12               // the number of rounds that most runs need
	within      = 14 * time.Second // the time for all trials of a run if its programs are short
	aroundTrial = 100 * time.Millisecond
	aroundSlice = 10 * time.Millisecond
	mostSlices  = 8
)

// slicing returns the number of slices of a trial, for a program with the execution time took; 0: slices would take too
// long.
func slicing(arms int, took time.Duration) int {
	trial := within/time.Duration(rounds*arms) - aroundTrial
	n := min(mostSlices, int(trial/(took+aroundSlice)))
	return max(n, 0) &^ 1
}

// File returns the text of the experiment file. The argument took is the duration of one execution. The argument kinds
// has the names of all layers.
func (a *comparison) File(took time.Duration, kinds []string) ([]byte, error) {
	arms, err := a.arms(kinds)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, arm := range arms {
		names = append(names, arm.Name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# %s
apiVersion: tare/v1alpha1
kind: Experiment
name: %s
description: %s
arms:
`, safetext.Line(a.Line), scalar(clip(strings.Join(names, "-vs-"), 63)),
		scalar("What does "+strings.Join(names[1:], ", ")+" cost beside "+names[0]+"?"))
	for _, arm := range arms {
		fmt.Fprintf(&b, "  - name: %s\n", scalar(arm.Name))
		if arm.Layer != "" {
			fmt.Fprintf(&b, "    layers: [%s]\n", arm.Layer)
		}
		if arm.Layer != "" && len(a.Allow) > 0 {
			fmt.Fprintf(&b, "    allow: [%s]\n", strings.Join(a.Allow, ", "))
		}
	}
	sliced := ""
	if n := slicing(len(arms)+1, took); n > 0 {
		sliced = fmt.Sprintf(", slices: %d", n)
	}
	fmt.Fprintf(&b, `workloads:
  - command: {%s, expect: %v, timeout: %v}
design: {rounds: {atMost: %d}, stop: decided%s}
# The arms alternate, so that what else runs here meets all of them alike; the control shows
# whether it does.
limits: {foreignCPU: none, steal: none}
`, start(a.Programs[0]), quantity.Duration(max(took.Round(time.Millisecond), time.Millisecond)),
		quantity.Duration(max(10*time.Minute, (20*took).Round(time.Minute))), mostRounds, sliced)
	return []byte(b.String()), nil
}

type arm struct{ Name, Layer string }

func (a *comparison) arms(kinds []string) (list []arm, err error) {
	for i, p := range a.Programs {
		one := arm{Name: cmp.Or(p.Name, a.called(i))}
		if i > 0 {
			one.Layer = "program: {" + start(p) + "}"
		}
		list = append(list, one)
	}
	for _, text := range a.Layers {
		one, err := front(text, kinds)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	used := []string{experiment.ControlName}
	for i, one := range list {
		for n := 2; slices.Contains(used, list[i].Name); n++ {
			list[i].Name = fmt.Sprintf("%s-%d", clip(one.Name, 60), n)
		}
		used = append(used, list[i].Name)
	}
	return list, nil
}

// called returns the name of a program's arm: the base name of its command, or the whole command if another program has
// this base name.
func (a *comparison) called(i int) string {
	base := func(p Program) string { return filepath.Base(strings.Fields(p.String())[0]) }
	p := a.Programs[i]
	same := 0
	for _, o := range a.Programs {
		if base(o) == base(p) {
			same++
		}
	}
	if same > 1 {
		return plain(p.String())
	}
	return plain(base(p))
}

// inline matches a layer as in a file: its kind, a colon and its parameters.
var inline = regexp.MustCompile(`^([a-z0-9-]+):\s`)

func front(text string, kinds []string) (arm, error) {
	text = strings.TrimSpace(text)
	if slices.Contains(kinds, text) {
		return arm{text, text + ": {}"}, nil
	}
	if m := inline.FindStringSubmatch(text); m != nil && slices.Contains(kinds, m[1]) {
		if strings.ContainsAny(text, "\n\r") {
			return arm{}, errors.New("a layer is one line here: write a file for more")
		}
		return arm{m[1], text}, nil
	}
	p, err := program(text)
	if err != nil {
		return arm{}, fmt.Errorf("the layer: %w", err)
	}
	args := p.Args
	if p.Shell != "" {
		args = []string{"/bin/sh", "-c", "exec " + p.Shell + ` "$@"`, "sh"}
	}
	return arm{plain(filepath.Base(strings.Fields(text)[0])), "wrap: {run: " + list(args) + "}"}, nil
}

func start(p Program) string {
	if p.Shell != "" {
		return "shell: " + scalar(p.Shell)
	}
	return "run: " + list(p.Args)
}

func list(words []string) string {
	var all []string
	for _, w := range words {
		all = append(all, scalar(w))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// asIs matches a text that needs no quotes in YAML.
var asIs = regexp.MustCompile(`^[A-Za-z./_-][A-Za-z0-9./_+=-]*[A-Za-z./_]$`)

// scalar returns a text in YAML. Every JSON string is valid YAML.
func scalar(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "---", "...", ".nan", ".inf", "-.inf":
	default:
		if asIs.MatchString(text) {
			return text
		}
	}
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return string(quoted)
}

var other = regexp.MustCompile(`[^a-z0-9]+`)

func plain(text string) string {
	return cmp.Or(clip(strings.Trim(other.ReplaceAllString(strings.ToLower(text), "-"), "-"), 40), "program")
}

func clip(text string, most int) string {
	if len(text) > most {
		text = strings.TrimRight(text[:most], "-")
	}
	return text
}
