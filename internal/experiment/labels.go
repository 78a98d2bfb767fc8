package experiment

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment/secret"
	"tare/internal/text/safetext"
)

// Labels describe circumstances of a run, such as the commit of the measured project. They do not influence the run.
// Comparisons of runs show them.
type Labels map[string]string

// LabelCommit is the label that Tare sets from the environment of a CI system.
const LabelCommit = "commit"

// commitVariables hold the commit in GitHub and Gitea, GitLab, Jenkins, CircleCI, Buildkite, Azure Pipelines, Travis,
// Drone and Bitbucket.
var commitVariables = []string{
	"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "CIRCLE_SHA1", "BUILDKITE_COMMIT", "BUILD_SOURCEVERSION",
	"TRAVIS_COMMIT", "DRONE_COMMIT_SHA", "BITBUCKET_COMMIT",
}

var (
	labelName = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,62}$`)
	commit    = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
)

// mostLabels and longestLabel limit the labels, since views show all labels of every run.
const (
	mostLabels   = 20
	longestLabel = 100 // in bytes
)

// LabelsOf reads labels of the form NAME=VALUE. If no commit is given, it takes the commit from a CI system's
// variables. An empty value removes a label.
func LabelsOf(given []string, environ func(string) string) (Labels, error) {
	labels := Labels{}
	for _, name := range commitVariables {
		if v := environ(name); IsCommit(v) && labels[LabelCommit] == "" {
			labels[LabelCommit] = v
		}
	}
	seen := map[string]bool{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case !ok || !labelName.MatchString(name):
			return nil, fmt.Errorf("the label %.60q is not NAME=VALUE, the name in small letters, digits, dots and dashes", text)
		case seen[name]:
			return nil, fmt.Errorf("the label %s is given twice", name)
		case len(value) > longestLabel || !safetext.Printable(value):
			return nil, fmt.Errorf("the label %s is longer than %d bytes, or holds a character that cannot be printed", name, longestLabel)
		case len(secret.Value(name, value, codeIf(value, secret.Argument))) > 0:
			return nil, errors.New(refusal("the label " + name))
		}
		seen[name] = true
		labels[name] = value
	}
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	if len(labels) > mostLabels {
		return nil, fmt.Errorf("there are %d labels, more than %d", len(labels), mostLabels)
	}
	if len(labels) == 0 {
		return nil, nil
	}
	return labels, nil
}

// IsCommit reports whether a text is the hash of a commit, of which views show only the beginning.
func IsCommit(text string) bool { return commit.MatchString(text) }

// Names returns the names of the labels, the commit first.
func (l Labels) Names() []string {
	names := slices.Sorted(maps.Keys(l))
	if at := slices.Index(names, LabelCommit); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, LabelCommit)
	}
	return names
}
