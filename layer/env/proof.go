package env

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"tare/layer"
	"tare/testbed"
)

// question asks the process that looks for one variable.
type question struct {
	Name   string `json:"name"`
	Hidden bool   `json:"hidden"` // answer with the hash of the value
}

// answer is what it found.
type answer struct {
	Set   bool   `json:"set"`
	Value string `json:"value"` // or its SHA-256 in hex
}

// lookLimit is how long the process may take.
const lookLimit = 20 * time.Second

// look starts the process that reports variables, as a command under test at a place of
// a site, in the layer's wrapper if there is one.
func (c *Config) look(ctx context.Context, site testbed.Site, where testbed.Place) (map[string]answer, error) {
	var questions []question
	for _, n := range c.Set.Names() {
		questions = append(questions, question{Name: n, Hidden: c.Set.Hidden(n)})
	}
	text, err := json.Marshal(questions)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd := testbed.HelperAt(site, where, name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Subject = bytes.NewReader(text), &stdout, &stderr, true
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	process, err := site.Start(ctx, where, cmd)
	if err != nil {
		return nil, fmt.Errorf("look at the environment of a command under test: %w", err)
	}
	if _, err := process.Wait(); err != nil {
		return nil, fmt.Errorf("look at the environment of a command under test: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	seen := map[string]answer{}
	if err := json.Unmarshal(stdout.Bytes(), &seen); err != nil {
		return nil, fmt.Errorf("look at the environment of a command under test: it answered %d bytes that are not JSON: %w", stdout.Len(), err)
	}
	return seen, nil
}

// report is the process that looks: it answers the questions on its stdin.
func report(context.Context) error {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		return fmt.Errorf("read the names of variables: %w", err)
	}
	answers := map[string]answer{}
	for _, q := range questions {
		value, set := os.LookupEnv(q.Name)
		if q.Hidden && set {
			value = hash(value)
		}
		answers[q.Name] = answer{Set: set, Value: value}
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func hash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// check compares what was seen with the value that the layer gives, which must
// be there when the layer is on and must not when it is off.
func (c *Config) check(n, value string, seen answer, on bool) layer.Check {
	hidden := c.Set.Hidden(n)
	called := "the value given" // what a hidden value is called
	if _, referred := c.Set.Referred(n); referred {
		called = "the value of " + c.Set[n]
	}
	want := value
	if hidden {
		want = hash(value)
	}
	same := seen.Set && seen.Value == want
	k := layer.Check{Layer: name, Name: "variable " + n, OK: same == on}
	switch {
	case hidden && on:
		k.Expected = called
	case on:
		k.Expected = fmt.Sprintf("%q", value)
	case hidden:
		k.Expected = "not " + called
	default:
		k.Expected = fmt.Sprintf("not %q", value)
	}
	switch {
	case !seen.Set:
		k.Observed = "not set"
	case !same: // it comes from elsewhere and is nobody's business
		k.Observed = "another value"
	case hidden:
		k.Observed = "that value"
	default:
		k.Observed = fmt.Sprintf("%q", seen.Value)
	}
	return k
}
