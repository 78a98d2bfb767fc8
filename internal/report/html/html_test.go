package html

import (
	"strings"
	"testing"

	"tare/internal/report/document"
)

func TestFlagsStayWhole(t *testing.T) {
	got := prose("all are in the table; --with-invalid <takes> in the others (--all)")
	want := `all are in the table; <code class="flag">--with-invalid</code> &lt;takes&gt; in the others (<code class="flag">--all</code>)`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Only a page that a server keeps up to date has a script, and it is the server's.
func TestScriptOnlyWhereLive(t *testing.T) {
	for _, c := range []struct {
		live   *document.Live
		policy string
		script string
	}{
		{nil, `content="default-src 'none'; style-src 'unsafe-inline'"`, ""},
		{&document.Live{Script: `./live.js"><b>`, Events: "events?seen=1&2"}, `script-src 'self'; connect-src 'self'"`,
			`<script src="./live.js&#34;&gt;&lt;b&gt;" data-events="events?seen=1&amp;2" defer></script>`},
	} {
		var page strings.Builder
		if err := Write(&page, &document.Document{Title: "x", Live: c.live}); err != nil {
			t.Fatal(err)
		}
		if got := page.String(); !strings.Contains(got, c.policy) || !strings.Contains(got, c.script) || strings.Contains(got, "<script") != (c.live != nil) {
			t.Errorf("%+v: %s", c.live, got)
		}
	}
}
