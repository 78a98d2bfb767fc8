package cli

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// PluginName is the name of the binary as a plug-in of kubectl, which runs it for `kubectl tare`.
const PluginName = "kubectl-tare"

// asPlugin adapts the texts to the command that the user called. Completion is kubectl's own there: it runs
// kubectl_complete-tare.
func asPlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl tare"}
	root.CompletionOptions.DisableDefaultCmd = true
	speak := pluginWords(root)
	var each func(*cobra.Command)
	each = func(c *cobra.Command) {
		c.Long, c.Example = speak(c.Long), speak(c.Example)
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
}

// pluginWords returns a function that replaces `tare run` by `kubectl tare run`, for every command. Where the
// word tare stands alone, it means the program.
func pluginWords(root *cobra.Command) func(string) string {
	names := []string{`--\w`}
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name())+`\b`)
	}
	command := regexp.MustCompile(`(kubectl )?\btare (` + strings.Join(names, "|") + `)`)
	return func(text string) string { return command.ReplaceAllString(text, "kubectl tare $2") }
}

// pluginHint adapts the hint of an error to the command that the user called.
func pluginHint(root *cobra.Command, err error) error {
	var coded *codedError
	if !errors.As(err, &coded) {
		return err
	}
	changed := *coded
	changed.hint = pluginWords(root)(changed.hint)
	return &changed
}
