package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/catalog"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
	"tare/internal/importer"
	"tare/internal/version"
)

func (f *importFlags) options(ctx context.Context, args []string, s State) (importer.Options, error) {
	o := f.Options
	var err error
	if o.Format, err = formatNamed(args); err != nil {
		return o, err
	}
	if err = f.mapped(ctx, &o); err != nil {
		return o, err
	}
	o.Known = catalog.Formats
	if o.Labels, err = labelled(f.labels); err != nil {
		return o, err
	}
	if o.Layout, err = f.studied(ctx, args[1:]); err != nil {
		return o, err
	}
	if o.Layout == nil {
		if o.Sources, err = sources(f.arms, args[1:], waiting(s.Stdin)); err != nil {
			return o, err
		}
	}
	if o.PairBy, err = importer.ParsePairing(f.pairBy); err != nil {
		return o, importError(err)
	}
	for _, text := range f.factors {
		of, err := importer.ParseFactor(text)
		if err != nil {
			return o, importError(err)
		}
		o.Factors = append(o.Factors, of)
	}
	o.Name = cmp.Or(o.Name, o.Format.Name)
	o.Version, o.Power = version.String(), 0.80
	if o.Limits.Errors, err = limit("errors", f.errors); err != nil {
		return o, err
	}
	if o.Limits.InvalidTrials, err = limit("invalid-trials", f.invalid); err != nil {
		return o, err
	}
	if o.Confidence, err = share("confidence", f.confidence, 0.5); err != nil {
		return o, err
	}
	o.Equivalence, err = share("equivalence", f.equivalence, 0)
	return o, err
}

// studied returns the layout, by which paths tell the arms, from --path or --layout. It is nil if the user names the
// files of each arm.
func (f *importFlags) studied(ctx context.Context, files []string) (*importer.Layout, error) {
	l := f.study
	fields := len(l.Arm)+len(l.Block)+len(l.Cell)+len(l.Repeat) > 0
	switch {
	case l.Path == "" && f.layout == "" && fields:
		return nil, hintedUsage(errors.New("--arm-by, --block-by, --cell-by and --rep-by name fields of a template"), "--path gives it, as in --path 'results/{cni}{layer:(-wg)?}/{rep}.json'")
	case l.Path == "" && f.layout == "":
		return nil, nil
	case len(f.arms) > 0 || len(files) > 0:
		return nil, usage(errors.New("the paths tell the arms: leave out --arm and files"))
	case f.layout == "":
		return &l, nil
	case l.Path != "" || fields:
		return nil, usage(errors.New("--layout has the template and its fields: leave out --path and the flags that name fields"))
	}
	data, err := readFile(ctx, f.layout)
	if err != nil {
		return nil, usage(fmt.Errorf("--layout: %w", err))
	}
	read, err := importer.ReadLayout(f.layout, data)
	return read, importError(err)
}

// otherNames maps another name of a tool, such as benchstat, to the name of its format.
var otherNames = map[string]string{
	"go": "gobench", "go-test": "gobench", "benchstat": "gobench", "benchfmt": "gobench",
	"k8s-bench-suite": "knb",
}

func formatNamed(args []string) (importer.Format, error) {
	var names []string
	for _, f := range catalog.Imports {
		if len(args) > 0 && f.Name == args[0] {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if len(args) == 0 {
		return importer.Format{}, hintedUsage(errors.New("the tool is missing whose results are to be imported"), "one of %s", strings.Join(names, ", "))
	}
	if other := otherNames[args[0]]; other != "" {
		return importer.Format{}, hintedUsage(fmt.Errorf("no format %q", args[0]), "did you mean %s? one of: %s", other, strings.Join(names, ", "))
	}
	return importer.Format{}, hintedUsage(fmt.Errorf("no format %q", args[0]), "%s", strictyaml.Suggest(args[0], "one of", names))
}

// mapped replaces a format that needs a mapping file by the format that the mapping file describes.
func (f *importFlags) mapped(ctx context.Context, o *importer.Options) error {
	switch {
	case o.Format.Mapped == nil && f.mapping != "":
		return hintedUsage(fmt.Errorf("--map is for the format table, not for %s", o.Format.Name), "tare import table --map %s", shellWord(f.mapping))
	case o.Format.Mapped == nil:
		return nil
	case f.mapping == "":
		return hintedUsage(fmt.Errorf("%s needs a mapping file", o.Format.Name), "--map FILE describes the fields; docs/import.md has examples")
	}
	text, err := readFile(ctx, f.mapping)
	if err != nil {
		return err
	}
	o.Map = string(text)
	if o.Format, err = o.Format.Mapped(f.mapping, text); err != nil {
		return usage(err)
	}
	return nil
}

// sources returns the files of each arm, or an error if no file is named. If standard input is a pipe, the error's hint
// names it.
func sources(arms, files []string, piped bool) ([]importer.Source, error) {
	var list []importer.Source
	of := ""
	for _, arm := range arms {
		name, from, ok := strings.Cut(arm, "=")
		if name == "" || ok && from == "" {
			return nil, hintedUsage(fmt.Errorf("--arm %s names no %s", arm, map[bool]string{true: "arm", false: "files"}[name == ""]), "as in --arm aks=results/aks")
		}
		if ok {
			list = append(list, importer.Source{Arm: name, From: []string{from}})
			continue
		}
		if of != "" {
			return nil, hintedUsage(fmt.Errorf("the files belong to one arm, not to both %s and %s", of, name), "as in --arm %s=results/%s", name, name)
		}
		of = name
	}
	pipe := ""
	if piped {
		pipe = ", or - for what is piped into standard input"
	}
	switch {
	case of != "" && len(files) == 0:
		return nil, hintedUsage(fmt.Errorf("no files for arm %s", of), "as in --arm %s=DIR, or --arm %s FILE...%s", of, of, pipe)
	case len(files) > 0:
		list = append(list, importer.Source{Arm: of, From: files})
	case len(list) == 0:
		return nil, hintedUsage(errors.New("no files to import"), "as in --arm aks=results/aks --arm gke=results/gke, or name the files of one arm%s", pipe)
	}
	return list, nil
}

func waiting(stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && (info.Mode()&fs.ModeNamedPipe != 0 || info.Mode().IsRegular())
}

// limit reads a share, or the word none, which turns the limit off.
func limit(flag, text string) (*quantity.Percent, error) {
	if text == "none" {
		return nil, nil
	}
	var p quantity.Percent
	err := p.UnmarshalText([]byte(text))
	if err == nil && p > 1 {
		err = fmt.Errorf("%s is more than 100%%", text)
	}
	if err != nil {
		return nil, hintedUsage(fmt.Errorf("--%s: %w", flag, err), "a percentage such as 1%%, or none")
	}
	return &p, nil
}

// share reads a percentage. The value must be at least the number least, above 0, and below 100 %.
func share(flag, text string, least float64) (quantity.Percent, error) {
	var p quantity.Percent
	if err := p.UnmarshalText([]byte(text)); err != nil {
		return 0, hintedUsage(fmt.Errorf("--%s: %w", flag, err), "a percentage such as 95%%")
	}
	if float64(p) < least || p == 0 || p >= 1 {
		return 0, usage(fmt.Errorf("--%s %s: not between %g%% and 100%%", flag, text, least*100))
	}
	return p, nil
}

// importCommand returns the shell command that repeats an import. It leaves out flags that affect only the output of
// this command.
func importCommand(c *cobra.Command) string {
	var parts []string
	c.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "dir", "output", "quiet":
		case "arm", "factor", "label":
			values, _ := c.Flags().GetStringArray(f.Name) // each of these flags has a list of values
			for _, value := range values {
				parts = append(parts, "--"+f.Name, shellWord(value))
			}
		case "headline", "allow", "arm-by", "block-by", "cell-by", "rep-by":
			parts = append(parts, "--"+f.Name, shellWord(strings.Trim(f.Value.String(), "[]")))
		default:
			parts = append(parts, shellWord("--"+f.Name+"="+f.Value.String()))
		}
	})
	words := each(c.Flags().Args(), shellWord)
	return strings.Join(slices.Concat([]string{"tare", "import"}, words[:1], parts, words[1:]), " ")
}

// plainWord matches a word that has no special meaning in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./=:,@%+-]+$`)

func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
