package report

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tare/internal/analysis"
	"tare/internal/test/slow"
)

// inspect finds in the DOM of a page what a reader would stumble over.
//
//go:embed testdata/inspect.js
var inspect string

// seen is what inspect finds: problems, and where what comes first ends, in pixels from the top.
type seen struct {
	Problems []string
	Answer   float64 // the last sentence of the answer
	Header   float64 // what is on the first page that is printed
	Wide     int     // tables that are wider than the window
	Hinted   int     // of those, the ones that show it
}

// chromium starts a browser. Without one the test is skipped, but in CI it fails.
func chromium(t *testing.T) context.Context {
	t.Helper()
	slow.Test(t)
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" && os.Getenv("CI") == "true" {
		t.Fatal("no Chromium is installed")
	} else if path == "" {
		t.Skip("no Chromium is installed, which shows whether pages fit: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(alloc)
	t.Cleanup(end)
	return ctx
}

// The width of A4 and the height of Letter at 96 pixels an inch, within the margins of the style sheet.
const paperWidth, paperHeight = 688, 950

func TestPagesInABrowser(t *testing.T) {
	ctx := chromium(t)
	failed := spoiled(wireguard().run(), 5)
	swept := wireguard()
	swept.arms, swept.cells = []madeArm{{"rules[rules=1]", []float64{0.3}}, {"rules[rules=8]", []float64{0.01}}, {"rules[rules=64]", []float64{0.5}}}, []string{"syscalls.open", "syscalls.stat", "syscalls.getppid"}
	swept.metrics = swept.metrics[2:3]
	warned := swept.run()
	for i := range warned.Comparisons {
		warned.Comparisons[i].Warnings = []analysis.Finding{analysis.WeakClaim{Power: 0.01 * float64(i+1), Factor: 2}}
	}
	six := swept
	for _, name := range []string{"a", "b", "c"} {
		six.arms = append(six.arms, madeArm{name, []float64{0.1}})
	}
	six.cells = six.cells[:2]
	for name, r := range map[string]*analysis.Run{"two arms": wireguard().run(), "spoilt": failed, "warnings": warned, "six arms": six.run(), "many arms": crowd(23)} {
		file := filepath.Join(t.TempDir(), "report.html")
		if err := os.WriteFile(file, []byte(asPage(t, Run(r, RunOptions{Experiment: []byte("name: x\n"), RunDir: ".", Page: file}))), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Do(ctx, chromedp.Navigate("file://"+file)); err != nil {
			t.Fatal(err)
		}
		for _, how := range []struct {
			name, media, scheme string
			width               int64
			screen              float64 // the answer ends here at the latest
		}{
			{"a phone", "screen", "light", 390, 844}, {"a phone in the dark", "screen", "dark", 390, 844},
			{"a desktop", "screen", "light", 1280, 800}, {"a desktop in the dark", "screen", "dark", 1280, 800},
			{"paper", "print", "light", paperWidth, paperHeight},
		} {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: how.media,
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: how.scheme}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride,
				emulation.SetDeviceMetricsOverrideParams{Width: how.width, Height: 15000, DeviceScaleFactor: 1, Mobile: how.width < 400}); err != nil {
				t.Fatal(err)
			}
			got, err := chromedp.Run(ctx, chromedp.Evaluate[seen](inspect))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got.Problems {
				t.Errorf("%s on %s: %s", name, how.name, p)
			}
			if got.Answer == 0 || got.Answer > how.screen {
				t.Errorf("%s on %s: the answer ends at %.0f, beyond the first screen of %.0f", name, how.name, got.Answer, how.screen)
			}
			if how.media == "print" && got.Header > paperHeight {
				t.Errorf("%s: the first page needs %.0f pixels of %d", name, got.Header, paperHeight)
			}
			if got.Hinted < got.Wide {
				t.Errorf("%s on %s: %d of %d tables that are too wide do not show it", name, how.name, got.Wide-got.Hinted, got.Wide)
			}
		}
	}
}

// What is printed of many arms is read to its end.
func TestManyArmsPrintOnFewPages(t *testing.T) {
	ctx := chromium(t)
	file := filepath.Join(t.TempDir(), "report.html")
	d := Run(crowd(23), RunOptions{Experiment: []byte("name: x\n"), RunDir: ".", Page: file})
	if err := os.WriteFile(file, []byte(asPage(t, d)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	printed, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(printed, -1)); n == 0 || n >= 12 {
		t.Errorf("it is printed on %d pages", n)
	}
}
