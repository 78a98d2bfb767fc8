package serve

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/runs/history/historytest"
)

const token = "sesame"

// nightly writes runs a day apart. With the 7th of them the layer costs more.
func nightly(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		r := historytest.Run{Name: "disk", Number: i, Level: 0.4, Cost: 0.07, Noise: 0.005, Rounds: 8, Size: "4KiB"}
		if i >= 6 {
			r.Cost = 0.12
		}
		write(t, r, filepath.Join(dir, "disk-"+string(rune('a'+i))))
	}
}

// write writes a run with all files that a report leads to.
func write(t *testing.T, r historytest.Run, dir string) {
	t.Helper()
	if r.Kernel == "" && r.Tool == "" {
		r.Kernel = "6.1.0"
	}
	file := journal.ExperimentFile
	if r.Tool != "" {
		file = journal.FilesFile
	}
	if err := errors.Join(r.Write(dir), os.WriteFile(filepath.Join(dir, file), []byte("name: made up\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// recorded makes a run with a chain and raw output.
func recorded(t *testing.T, dir string) {
	t.Helper()
	made := historytest.Run{Name: "recorded", Level: 1, Noise: 0.01, Rounds: 6}.Journal("")
	j, err := journal.Create(dir, []byte("name: recorded\n"), map[string][]byte{"deny.yaml": []byte("deny: all\n")}, made.Plan, &machine.Environment{Schema: machine.EnvironmentSchema})
	if err != nil {
		t.Fatal(err)
	}
	for i := range made.Trials {
		trial := &made.Trials[i]
		raw, err := j.Raw(trial.Round, trial.Attempt, trial.Arm, trial.Cell)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"out.json", "page.html"} {
			w, err := raw.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(w, "<script>alert(1)</script>\n")
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
		}
		trial.Raw = raw.Dir()
		if err := j.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Finish(), j.Close()); err != nil {
		t.Fatal(err)
	}
}

// hostile is a name that is markup, an address and an escape sequence.
const hostile = "a\"><img src=x onerror=alert(1)>?b#c%2f&amp;\x1b[31m\u202e"

func library(t *testing.T, dir string) *Library {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// get asks as a browser does that has the cookie.
func get(t *testing.T, h http.Handler, address string) *http.Response {
	t.Helper()
	q := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	q.URL.Path = address
	name, kept := (&access{token: token}).cookie(q.Host)
	q.AddCookie(&http.Cookie{Name: name, Value: kept})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	links  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	markup = regexp.MustCompile(`(?i)<(img|script>)|\x1b|\x{202e}`)
)

// follow visits every page that links lead to, each once, and gives their texts by address. Of
// the pages to choose a comparison on it takes those of one run: there are very many pairs.
func follow(t *testing.T, fetch func(address string) (text string, ok bool)) map[string]string {
	t.Helper()
	texts, todo := map[string]string{}, []string{indexPage}
	for len(todo) > 0 {
		address := todo[0]
		todo = todo[1:]
		if _, known := texts[address]; known {
			continue
		}
		text, ok := fetch(address)
		if texts[address] = text; !ok {
			t.Errorf("a link leads to %q, and there is nothing", address)
		}
		if isPage := strings.HasPrefix(text, "<!DOCTYPE html>"); !isPage || path.Base(address) == choosePage && address != "runs/half/"+choosePage {
			continue
		}
		if found := markup.FindString(text); found != "" {
			t.Errorf("%q holds %q", address, found)
		}
		here := url.URL{Path: "/" + address}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			to, err := here.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if err != nil {
				t.Errorf("%q has the link %q: %v", address, m[1], err)
			} else if to.Host == "" && to.Path != here.Path {
				todo = append(todo, to.Path[1:])
			}
		}
	}
	return texts
}

// mixed is a directory with all that can happen.
func mixed(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	nightly(t, dir, 12)
	recorded(t, filepath.Join(dir, "deep", "recorded"))
	write(t, historytest.Run{Name: hostile, Number: 1, Level: 1, Noise: 0.01, Rounds: 6, Kernel: hostile}, filepath.Join(dir, hostile))
	write(t, historytest.Run{Name: hostile, Number: 2, Level: 1, Noise: 0.01, Rounds: 6}, filepath.Join(dir, "other"))
	write(t, historytest.Run{Name: "disk", Number: 40, Level: 0.4, Noise: 0.01, Rounds: 3, Running: true}, filepath.Join(dir, "half"))
	write(t, historytest.Run{Name: "disk", Number: 41, Level: 0.4, Noise: 0.01, Rounds: 3, Invalid: true}, filepath.Join(dir, "spoilt"))
	write(t, historytest.Run{Name: "imported", Number: 3, Level: 1, Noise: 0.01, Rounds: 6, Tool: "fio"}, filepath.Join(dir, "imported"))
	broken := filepath.Join(dir, "broken<b>")
	for _, name := range []string{journal.PlanFile, journal.TrialsFile} {
		if err := errors.Join(os.MkdirAll(broken, 0o755), os.WriteFile(filepath.Join(broken, name), []byte("{"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Every link of every page leads somewhere, whatever runs are called.
func TestPagesLead(t *testing.T) {
	dir := mixed(t)
	h := library(t, dir).Handler(token, "")
	texts := follow(t, func(address string) (string, bool) {
		r := get(t, h, "/"+address)
		return body(t, r), r.StatusCode == http.StatusOK
	})
	for address, want := range map[string][]string{
		indexPage:                                  {"disk-a", "compared with the run before", "interrupted", "report so far", "runs/broken"},
		historyPage:                                {"% worse", `>before</a>`, `>after</a>`, `href="./runs/disk-g/compared/disk-f.html"`},
		"runs/disk-g/compared/disk-f.html":         {"Comparison of 2 runs"},
		"runs/half/live.html":                      {"Interim estimates", "no verdict before its last round", "tare resume"},
		"runs/deep/recorded/raw/":                  {"001-plain-disk.1/"},
		"runs/deep/recorded/trials.jsonl":          {`"chain"`},
		"runs/deep/recorded/report.html":           {"All runs"},
		"runs/" + hostile + "/report.html":         {"onerror=alert(1)&gt;"},
		"runs/other/compared/" + hostile + ".html": {"Comparison of 2 runs"},
	} {
		for _, say := range want {
			if !strings.Contains(texts[address], say) {
				t.Errorf("%q does not say %q", address, say)
			}
		}
	}
	for address, text := range texts {
		if strings.Contains(text, filepath.Dir(dir)) {
			t.Errorf("%q tells where the runs lie", address)
		}
	}
}

// What an interim page shows is no verdict, whatever the numbers are.
func TestLiveHasNoVerdict(t *testing.T) {
	dir := t.TempDir()
	write(t, historytest.Run{Name: "disk", Level: 0.4, Cost: 0.5, Noise: 0.001, Rounds: 12, Running: true}, filepath.Join(dir, "half"))
	_, text, _ := strings.Cut(body(t, get(t, library(t, dir).Handler(token, ""), "/runs/half/live.html")), "<body>")
	if strings.Contains(text, "v-costs") || !strings.Contains(text, ">interim<") || !strings.Contains(text, "% more</td>") {
		t.Errorf("the page is\n%s", text)
	}
}

func TestOutside(t *testing.T) {
	dir := mixed(t)
	out := t.TempDir()
	write(t, historytest.Run{Name: "elsewhere", Level: 1, Rounds: 2}, filepath.Join(out, "run"))
	secret := filepath.Join(out, "secret")
	run := filepath.Join(dir, "disk-a")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o644), os.Symlink(secret, filepath.Join(run, "file")),
		os.Symlink(out, filepath.Join(run, "folder")), os.Symlink(filepath.Join(out, "run"), filepath.Join(dir, "linked")),
		os.Symlink("disk-b", filepath.Join(dir, "alias"))); err != nil {
		t.Fatal(err)
	}
	h := library(t, dir).Handler(token, "")
	for _, address := range []string{"/runs/disk-a/file", "/runs/disk-a/folder/", "/runs/disk-a/folder/secret", "/runs/linked/report.html", "/runs/linked/plan.json",
		"/runs/alias/plan.json", "/runs/disk-a/../../../secret", "/runs/disk-a/%2e%2e/%2e%2e/secret", "/runs/../serve_test.go", "/etc/passwd", "//etc/passwd",
		"/runs/disk-a", "/runs/disk-a/raw", "/runs/disk-a/nothing", "/runs/disk-a/compared/nothing.html", "/runs/disk-a/compared/disk-b", "/runs/disk-a/compared/disk-b.html/x",
		"/runs/", "/runs/disk-a/\x00", "/runs/disk-a/plan.json/", "/runs/nothing/events", "/favicon.ico"} {
		if r := get(t, h, address); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", address, r.Status)
		}
	}
	if r := get(t, h, "/runs/disk-a/"); strings.Contains(body(t, r), "secret") {
		t.Error("a link is listed")
	}
}

// What a tool wrote is text, never a page.
func TestFilesAreText(t *testing.T) {
	dir := t.TempDir()
	recorded(t, filepath.Join(dir, "r"))
	r := get(t, library(t, dir).Handler(token, ""), "/runs/r/raw/001-plain-disk.1/page.html")
	if got := r.Header.Get("Content-Type"); r.StatusCode != http.StatusOK || got != "text/plain; charset=utf-8" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s as %s", r.Status, got)
	}
}
