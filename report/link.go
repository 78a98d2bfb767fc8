package report

import (
	"cmp"
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// base is the way from the page to the run directory; "" if the page lies in it.
func (o RunOptions) base() string {
	if o.Page == "" {
		return ""
	}
	rel, err := filepath.Rel(filepath.Dir(o.Page), cmp.Or(o.RunDir, "."))
	if err != nil {
		rel = o.RunDir // one of them is absolute
	}
	if rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// link gives the address of a file of the run, as seen from the page. Whatever
// the name is, the result is a path below the run directory.
func link(base, name string) string {
	slash := strings.HasSuffix(name, "/")
	name = path.Join(base, path.Clean("/" + name)[1:])
	if !path.IsAbs(name) {
		name = "./" + name
	}
	u := (&url.URL{Path: name}).EscapedPath()
	if slash {
		u += "/"
	}
	return u
}
