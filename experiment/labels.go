package experiment

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tare/experiment/secret"
	"tare/safetext"
)

// Labels say what a run was made of, where its file does not: the commit of the
// project that was measured, for instance. They decide nothing, and are shown
// wherever runs stand side by side.
type Labels map[string]string

// LabelCommit is the label that CI systems tell of themselves.
const LabelCommit = "commit"

// commitVariables are where CI systems put the commit: of GitHub and Gitea, GitLab, Jenkins,
// CircleCI, Buildkite, Azure Pipelines, Travis, Drone and Bitbucket.
var commitVariables = []string{
	"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "CIRCLE_SHA1", "BUILDKITE_COMMIT", "BUILD_SOURCEVERSION",
	"TRAVIS_COMMIT", "DRONE_COMMIT_SHA", "BITBUCKET_COMMIT",
}

var (
	labelName = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,62}$`)
	commit    = regexp.MustCompile(`^[0-9a-fA-F]{7,64}$`)
)

// mostLabels and longestLabel bound what stands beside every run.
const (
	mostLabels   = 20
	longestLabel = 100 // bytes
)

// LabelsOf are the labels given as NAME=VALUE, and the commit that the environment of a CI
// system tells unless one is given. An empty value is no label.
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

// IsCommit says whether a text is the hash of a commit, of which a part is enough to tell it.
func IsCommit(text string) bool { return commit.MatchString(text) }

// Names are those of the labels, the commit first.
func (l Labels) Names() []string {
	names := slices.Sorted(maps.Keys(l))
	if at := slices.Index(names, LabelCommit); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, LabelCommit)
	}
	return names
}
