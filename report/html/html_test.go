package html

import "testing"

func TestFlagsStayWhole(t *testing.T) {
	got := prose("all are in the table; --with-invalid <takes> in the others (--all)")
	want := `all are in the table; <code class="flag">--with-invalid</code> &lt;takes&gt; in the others (<code class="flag">--all</code>)`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
