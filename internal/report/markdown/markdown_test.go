package markdown

import (
	"strings"
	"testing"
)

func TestMarkdownLink(t *testing.T) {
	for _, c := range []struct{ to, want string }{
		{"https://ci.example/runs/1?a=b#c", "[Report](<https://ci.example/runs/1?a=b#c>)"},
		{"runs/x y/report.html", "[Report](<runs/x%20y/report.html>)"},
		{"javascript:alert(1)", "Report: javascript:alert(1)"},
		{"//evil.example/x", "Report: //evil.example/x"},
		{"a>)](b", "[Report](<a%3E%29%5D%28b>)"},
		{"http://[bad", `Report: http&#58;//\[bad`},
	} {
		got := link("Report", c.to)
		if got != c.want && got != strings.NewReplacer("%29", ")", "%28", "(", "%5D", "]").Replace(c.want) {
			t.Errorf("%s is linked as %s, want %s", c.to, got, c.want)
		}
	}
}

func TestEscape(t *testing.T) {
	in := "a|b `c` <img src=x> [l](http://x) **b** _i_ & @user #1 \\\nnext"
	want := "a\\|b \\`c\\` &lt;img src=x&gt; \\[l\\](http&#58;//x) \\*\\*b\\*\\* \\_i\\_ &amp; &#64;user \\#1 \\\\ next"
	if got := escape(in); got != want {
		t.Errorf("Escape = %q\nwant %q", got, want)
	}
}
