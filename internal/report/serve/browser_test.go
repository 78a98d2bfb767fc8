package serve

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tare/internal/test/slow"
)

// browser is a tab of a browser, and what went wrong in it.
func browser(t *testing.T) (ctx context.Context, wrong func() []string) {
	t.Helper()
	slow.Test(t)
	names := []string{"chromium", "chromium-browser", "google-chrome", "chrome"}
	i := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if i < 0 && os.Getenv("CI") == "true" {
		t.Fatal("there is no Chromium")
	} else if i < 0 {
		t.Skip("there is no Chromium: apt-get install chromium")
	}
	o := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(names[i]))
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), o...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	var mu sync.Mutex
	var list []string
	err := chromedp.Listen(ctx, func(e any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			list = append(list, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			list = append(list, e.Entry.Text+" "+e.Entry.URL)
		case *page.EventJavascriptDialogOpening:
			list = append(list, "a dialog: "+e.Message)
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.DeleteFunc(list, func(text string) bool { return strings.HasSuffix(text, "/favicon.ico") })
	}
}

// patience is how long a browser may take for one step.
const patience = 20 * time.Minute

func do(ctx context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// value is that of an expression on the page.
func value[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits until an expression is true, also across pages that are loaded meanwhile.
func until(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		for {
			if is, err := chromedp.Evaluate[bool](expression)(ctx, tab); err == nil && is {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("until %s: %w", expression, ctx.Err())
			case <-again.C:
			}
		}
	})
}

func says(text string) chromedp.Action[chromedp.Void] {
	return until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// A browser shows a run as it goes on, and its report when it has ended.
func TestBrowserFollowsRun(t *testing.T) {
	ctx, wrong := browser(t)
	dir := t.TempDir()
	run := grow(t, filepath.Join(dir, hostile), hostile)
	l := library(t, dir)
	l.look = 10 * time.Millisecond
	server := httptest.NewServer(l.Handler(token, ""))
	defer server.CloseClientConnections()
	do(ctx, t, chromedp.Navigate(server.URL+"/?token="+token), says("interrupted"))
	if cookies, at := value[string](ctx, t, "document.cookie"), value[string](ctx, t, "location.href"); cookies != "" || strings.Contains(at, token) {
		t.Errorf("scripts see the cookie %q, the address is %s", cookies, at)
	}
	do(ctx, t, chromedp.Click(chromedp.CSS("td.name a")), says("10 of 18"), until("window.same = true"))
	run.trials(1)
	do(ctx, t, says("11 of 18"))
	same, title := value[bool](ctx, t, "window.same === true"), value[string](ctx, t, "document.title")
	if !same || !strings.Contains(title, "11 of 18 trials") {
		t.Errorf("the page was loaded anew, or its title is %q", title)
	}
	run.finish()
	do(ctx, t, until("location.pathname.endsWith('/report.html')"), says("Definitions"))
	if list := wrong(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}

// Without scripts the page says the same and is loaded again and again; on a phone
// nothing is wider than the screen.
func TestBrowserWithoutScripts(t *testing.T) {
	ctx, wrong := browser(t)
	dir := t.TempDir()
	run := grow(t, filepath.Join(dir, "half"), "disk")
	server := httptest.NewServer(library(t, dir).Handler(token, ""))
	defer server.CloseClientConnections()
	do(ctx, t, chromedp.EmulateViewport(390, 800), chromedp.Navigate(server.URL+"/?token="+token))
	for _, page := range []string{"/", "/runs/half/live.html", "/runs/half/", "/history.html"} {
		do(ctx, t, chromedp.Navigate(server.URL+page))
		if wide := value[int](ctx, t, "document.documentElement.scrollWidth"); wide > 390 {
			t.Errorf("%s is %d pixels wide on a phone of 390", page, wide)
		}
	}
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	do(ctx, t, chromedp.Navigate(server.URL+"/runs/half/live.html"), says("10 of 18"))
	run.trials(1)
	do(ctx, t, says("11 of 18"))
	if list := wrong(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}
