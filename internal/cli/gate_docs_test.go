package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"tare/internal/catalog"
	"tare/internal/experiment"
)

// TestPipelinePage checks the examples of docs/pipeline.md: experiments load, workflows are YAML in the form of
// their CI system, and every call of tare in them has an existing command and flags.
func TestPipelinePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/pipeline.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, block := range regexp.MustCompile("(?s)```(yaml|sh)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		text := block[2]
		switch {
		case block[1] == "sh":
			kinds["sh"]++
			callsExist(t, text)
		case strings.HasPrefix(text, "apiVersion:"):
			kinds["experiment"]++
			if _, err := experiment.Load("docs/pipeline.md", []byte(text), catalog.Kinds()); err != nil {
				t.Error(err)
			}
		case strings.Contains(text, "\njobs:"):
			kinds["github"]++
			if calls := githubWorkflow(t, text); calls < 4 {
				t.Errorf("%d calls of tare", calls)
			}
		default:
			kinds["gitlab"]++
			gitlabPipeline(t, text)
		}
	}
	if got := fmt.Sprint(kinds); got != "map[experiment:1 github:1 gitlab:1 sh:5]" {
		t.Errorf("the page has %s", got)
	}
}

// TestCIExample checks the workflow and the script of examples/ci, which a txtar script runs.
func TestCIExample(t *testing.T) {
	text, err := os.ReadFile("../../examples/ci/github.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if calls := githubWorkflow(t, string(text)); calls != 0 {
		t.Errorf("%d calls of tare beside those of night.sh", calls)
	}
	script, err := os.ReadFile("../../examples/ci/night.sh")
	if err != nil {
		t.Fatal(err)
	}
	if calls := callsExist(t, string(script)); calls != 3 {
		t.Errorf("%d calls of tare", calls)
	}
}

// workflow holds the parts of a GitHub workflow that the example uses.
type workflow struct {
	Name string
	On   map[string]any
	Jobs map[string]struct {
		RunsOn      any    `yaml:"runs-on"`
		Timeout     int    `yaml:"timeout-minutes"`
		Concurrency string `yaml:"concurrency"`
		Steps       []struct {
			Name, Uses, Run, If string
			With                map[string]string
		}
	}
}

// githubWorkflow checks the form of a workflow, and counts its calls of tare.
func githubWorkflow(t *testing.T, text string) (calls int) {
	t.Helper()
	var w workflow
	if err := yaml.UnmarshalWithOptions([]byte(text), &w, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for name, job := range w.Jobs {
		if job.RunsOn == nil {
			t.Errorf("job %s runs nowhere", name)
		}
		for i, s := range job.Steps {
			if (s.Uses == "") == (s.Run == "") {
				t.Errorf("step %d of %s has to have either uses or run", i+1, name)
			}
			if s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+(/[a-z]+)?@v[0-9]+$`).MatchString(s.Uses) {
				t.Errorf("step %d of %s uses %s", i+1, name, s.Uses)
			}
			calls += callsExist(t, s.Run)
		}
	}
	if len(w.On) == 0 {
		t.Error("there are no events")
	}
	return calls
}

func gitlabPipeline(t *testing.T, text string) {
	t.Helper()
	var jobs map[string]struct {
		Image         string
		Tags          []string
		ResourceGroup string `yaml:"resource_group"`
		Timeout       string
		Cache         struct {
			Key, When string
			Paths     []string
		}
		Script       []string
		AfterScript  []string `yaml:"after_script"`
		AllowFailure struct {
			ExitCodes int `yaml:"exit_codes"`
		} `yaml:"allow_failure"`
		Artifacts struct {
			When    string
			Paths   []string
			Reports struct{ JUnit []string }
		}
	}
	if err := yaml.UnmarshalWithOptions([]byte(text), &jobs, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for name, job := range jobs {
		if calls := callsExist(t, strings.Join(append(job.Script, job.AfterScript...), "\n")); calls < 4 {
			t.Errorf("job %s has %d calls of tare", name, calls)
		}
		if job.AllowFailure.ExitCodes != exitUnresolved {
			t.Errorf("job %s allows exit code %d", name, job.AllowFailure.ExitCodes)
		}
		if got := strings.Join(job.Artifacts.Reports.JUnit, " "); got != "gate.xml regression.xml" {
			t.Errorf("job %s reports %s", name, got)
		}
	}
}

// callsExist checks every line that calls tare, and counts them.
func callsExist(t *testing.T, script string) (calls int) {
	t.Helper()
	script = strings.ReplaceAll(script, "\\\n", " ")
	for _, line := range strings.Split(script, "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "|")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "tare" {
			continue
		}
		calls++
		root := Root(State{Stdout: io.Discard, Stderr: io.Discard})
		command, rest, err := root.Find(words[1:])
		if err != nil || command == root {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	return calls
}
