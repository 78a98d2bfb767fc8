package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/cli"
	"tare/internal/importer/vaultbench/vaultbenchtest"
	"tare/internal/report/wording"
	"tare/internal/runs/published"
	"tare/internal/test/golden"
)

// The published table of the study of Vault on AKS, GKE and Constellation: mean and variance over 100 runs with
// 5 replicas, in seconds, and differences in percent of Constellation.
var study = struct {
	metrics     []string
	moments     map[string][]string
	differences map[string][]string
}{
	[]string{"latency-mean", "latency-p99", "latency-max", "latency-min"},
	map[string][]string{
		"aks":  {"1.632200 (0.002057)", "5.480679 (2.263700)", "6.651001 (2.808401)", "0.011415 (0.000133)"},
		"gke":  {"1.656435 (0.003615)", "6.030807 (3.955051)", "7.164843 (3.300004)", "0.010233 (0.000111)"},
		"c11n": {"1.651549 (0.001610)", "5.780422 (3.016106)", "6.942997 (3.075796)", "0.013774 (0.000228)"},
	},
	map[string][]string{
		"aks": {"+1.171577", "+5.185495", "+4.205618", "+17.128781"},
		"gke": {"-0.295851", "-4.331603", "-3.195248", "+25.710886"},
	},
}

// TestStudy2 imports the study's 600 files and compares the published table with Tare's, digit by digit. With
// -update it writes docs/figures/study2.md.
func TestStudy2(t *testing.T) {
	dir := t.TempDir()
	vaultbenchtest.Write(t, dir, vaultbenchtest.Study(t))
	five := importStudy(t, dir, "5replicas")
	two := importStudy(t, dir, "2replicas")
	unchecked := importStudy(t, dir, "2replicas", "--errors", "none")

	table := publishedTable(t, five)
	for arm, want := range study.moments {
		for i, metric := range study.metrics {
			if got := momentsOf(table, metric, arm); got != want[i] {
				t.Errorf("%s of %s: %s, published %s", metric, arm, got, want[i])
			}
		}
	}
	for arm, want := range study.differences {
		for i, metric := range study.metrics {
			d := differenceOf(t, table, metric, arm)
			if got := fmt.Sprintf("%+.6f", *d.RelativeToB*100); got != want[i] {
				t.Errorf("%s of %s: %s %% of c11n, published %s", metric, arm, got, want[i])
			}
			if d.Verdict == nil {
				t.Errorf("%s of %s: nothing is said of the difference", metric, arm)
			}
		}
	}
	// The text output has the same digits.
	for text, flags := range map[string][]string{
		"  1.656435 (0.003615)  1.651549 (0.001610)\n":                                   nil,
		"    c11n against gke  0.294978 % of gke less   0.295851 % of c11n less\n":       nil,
		"| minimum latency, s | 0.011415 (0.000133) | 0.010233 (0.000111) | ":            {"-o", "markdown"},
		"| c11n against aks | 1.185466 % of aks more | 1.171577 % of c11n more | c11n: ": {"-o", "markdown"},
		"total,latency-p99,s,mean,gke,,100,0,6.03080":                                    {"-o", "csv"},
	} {
		if got := tare(t, append([]string{"show", five, "--as", "published", "--digits", "6"}, flags...)...); !strings.Contains(got, text) {
			t.Errorf("show --as published %v lacks %q", flags, text)
		}
	}

	got := studyPage(t, table, publishedTable(t, two), publishedTable(t, two, "--with-invalid"), publishedTable(t, unchecked))
	golden.Check(t, filepath.Join("..", "..", "docs", "figures", "study2.md"), got)
}

// tare runs the command line in this process and returns its output.
func tare(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(args, cli.State{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Width: 100}); code != 0 {
		t.Fatalf("tare %s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// importStudy imports the runs with a number of replicas, with the published metrics as headlines.
func importStudy(t *testing.T, files, replicas string, flags ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"import", "vault-benchmark", "--quiet", "--no-raw", "--dir", dir, "--headline", "total:" + strings.Join(study.metrics, ",total:")}
	for _, arm := range []string{"aks", "gke", "c11n"} {
		args = append(args, "--arm", arm+"="+filepath.Join(files, replicas, arm))
	}
	tare(t, append(args, flags...)...)
	return dir
}

func publishedTable(t *testing.T, run string, flags ...string) *published.Table {
	t.Helper()
	var table published.Table
	out := tare(t, append([]string{"show", run, "--as", "published", "-o", "json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &table); err != nil {
		t.Fatal(err)
	}
	return &table
}

// total returns a metric of the statistics of all requests.
func total(table *published.Table, metric string) published.Metric {
	for _, c := range table.Cells {
		for _, m := range c.Metrics {
			if c.ID == "total" && m.Metric.Name == metric {
				return m
			}
		}
	}
	return published.Metric{}
}

func momentsOf(table *published.Table, metric, arm string) string {
	for _, a := range total(table, metric).Arms {
		if a.Arm == arm {
			return fmt.Sprintf("%.6f (%.6f)", a.Mean, a.Variance)
		}
	}
	return "missing"
}

// differenceOf returns the difference between an arm and c11n.
func differenceOf(t *testing.T, table *published.Table, metric, arm string) published.Difference {
	t.Helper()
	for _, d := range total(table, metric).Differences {
		if d.A == arm && d.B == "c11n" && d.RelativeToB != nil {
			return d
		}
	}
	t.Fatalf("no difference of %s and c11n on %s", arm, metric)
	return published.Difference{}
}

// studyPage returns docs/figures/study2.md.
func studyPage(t *testing.T, five, two, twoAll, unchecked *published.Table) string {
	var b strings.Builder
	b.WriteString(studyHead)
	meansTable(&b, five)
	shown, small, open := 0, 0, 0
	for arm := range study.differences {
		for _, metric := range study.metrics {
			d := differenceOf(t, five, metric, arm)
			switch d.Verdict.Verdict {
			case analysis.Costs, analysis.Gains:
				if (*d.RelativeToB > 0) != (d.Verdict.Verdict == analysis.Costs) {
					t.Errorf("%s of %s: published the other way round than %s", metric, arm, d.Verdict.Verdict)
				}
				shown++
			case analysis.Equivalent:
				small++
			default:
				open++
			}
		}
	}
	fmt.Fprintf(&b, studyDifferences, shown, small, open)
	differencesTable(t, &b, five)
	b.WriteString(studyTwo)
	meansTable(&b, two)
	b.WriteString(studyTwoAll)
	meansTable(&b, twoAll)
	b.WriteString(studyTwoDifferences)
	b.WriteString("| metric | arm | all runs | valid runs | interval, all runs | interval, valid runs | Welch's t, all runs | Welch's t, valid runs |\n|---|---|--:|--:|---|---|---|---|\n")
	for _, metric := range study.metrics {
		for _, arm := range []string{"aks", "gke"} {
			all, valid, said := differenceOf(t, twoAll, metric, arm), differenceOf(t, two, metric, arm), differenceOf(t, unchecked, metric, arm).Verdict
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", metric, arm, percentText(*all.RelativeToB), percentText(*valid.RelativeToB),
				verdictText(said), verdictText(valid.Verdict), wording.OverheadWords(said.Metric).Interval(said.Metric, said.T), wording.OverheadWords(said.Metric).Interval(said.Metric, valid.Verdict.T))
		}
	}
	b.WriteString(studyFoot)
	return b.String()
}

func meansTable(b *strings.Builder, table *published.Table) {
	b.WriteString("| | mean | p99 | max | min |\n|---|--:|--:|--:|--:|\n")
	for _, arm := range table.Arms {
		fmt.Fprintf(b, "| %s |", arm)
		for _, metric := range study.metrics {
			fmt.Fprintf(b, " %s |", momentsOf(table, metric, arm))
		}
		b.WriteString("\n")
	}
}

func differencesTable(t *testing.T, b *strings.Builder, table *published.Table) {
	b.WriteString("| metric | arm | relative to c11n, as published | relative to the arm | what the interval says of c11n against the arm |\n|---|---|--:|--:|---|\n")
	for _, metric := range study.metrics {
		for _, arm := range []string{"aks", "gke"} {
			d := differenceOf(t, table, metric, arm)
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", metric, arm, percentText(*d.RelativeToB), percentText(*d.RelativeToA), verdictText(d.Verdict))
		}
	}
}

func percentText(share float64) string {
	word := "more"
	if share < 0 {
		word = "less"
	}
	return fmt.Sprintf("%.6f %% %s", math.Abs(share)*100, word)
}

// verdictText returns a verdict with its interval.
func verdictText(c *analysis.Comparison) string {
	return "*" + string(c.Verdict) + "*, " + wording.OverheadWords(c.Metric).Interval(c.Metric, c.Overhead)
}
