package serve

import (
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/report"
	"tare/internal/report/document"
)

// folder returns the page that lists a directory of a run; "" is the run's own directory.
func (r *run) folder(dir string, files []report.File) *document.Document {
	links := append(slices.Clone(home[:1]), report.Link{Words: "Report", To: r.page(reportPage)})
	return report.Files(path.Join(r.address(), dir, indexPage), path.Join(r.address(), dir), files, links...)
}

// file responds with a file of a run as plain text, or with the list of a directory. Symbolic links
// cannot lead out of the served directory.
func (h *handler) file(w http.ResponseWriter, q *http.Request, r *run, name string) error {
	top, err := os.OpenRoot(h.library.dir)
	if err != nil {
		return err
	}
	defer top.Close()
	below, err := filepath.Rel(h.library.dir, r.dir)
	if err != nil {
		return err
	}
	root, err := top.OpenRoot(below)
	if err != nil {
		return fs.ErrNotExist
	}
	defer root.Close()
	dir, isDir := strings.CutSuffix("./"+name, "/")
	dir = path.Clean(dir)
	if !fs.ValidPath(dir) {
		return fs.ErrNotExist
	}
	about, err := root.Stat(dir) // checked before opening, because opening a pipe would block
	switch {
	case err != nil || isDir != about.IsDir() || !isDir && !about.Mode().IsRegular():
		return fs.ErrNotExist
	case isDir:
		entries, err := fs.ReadDir(root.FS(), dir)
		if err != nil {
			return fs.ErrNotExist
		}
		return show(w, http.StatusOK, r.folder(dir, listed(entries)))
	}
	f, err := root.Open(dir)
	if err != nil {
		return fs.ErrNotExist
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, q, "", about.ModTime(), f)
	return nil
}

// listed returns the files and directories among the entries. It skips pipes and other special files.
func listed(entries []fs.DirEntry) (files []report.File) {
	for _, e := range entries {
		switch about, err := e.Info(); {
		case err != nil:
		case e.IsDir():
			files = append(files, report.File{Name: e.Name() + "/", Size: -1})
		case e.Type().IsRegular():
			files = append(files, report.File{Name: e.Name(), Size: about.Size()})
		}
	}
	return files
}
