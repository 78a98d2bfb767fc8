package serve

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/report/html"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
	"tare/internal/runs/history"
	"tare/internal/text/input"
)

// siteSummary counts the pages and files of a site.
type siteSummary struct {
	Pages, Files int
	Skipped      []history.Skipped // runs that the site leaves out
}

// Site writes all pages and the files of the runs to a directory. Links are relative, so that the site works at any
// address. Equal runs give equal files. Without raw, raw files are not copied, only listed with their digests. Site
// replaces the files of an earlier site. If another file is in the way, it writes nothing and returns an error. It
// skips a damaged run, and a run for which check returns an error.
func (l *Library) Site(ctx context.Context, to string, raw bool, check func(*journal.Run) error) (siteSummary, error) {
	s := &site{raw: raw, check: check, write: map[string]func(io.Writer) error{}}
	if within(l.dir, to) {
		return siteSummary{}, ErrWithin
	}
	all, skipped, _, err := l.read(math.MaxInt64)
	if err != nil {
		return siteSummary{}, err
	}
	var vouched []*reading
	for _, r := range all {
		if err := s.addRun(r.run); err != nil {
			skipped = append(skipped, history.Skipped{Directory: r.address(), Reason: r.named(err).Error()})
			continue
		}
		vouched = append(vouched, r)
	}
	s.addPages(vouched, skipped)
	done := siteSummary{Pages: s.pages, Files: len(s.write) - s.pages, Skipped: skipped}
	return done, s.publish(ctx, to)
}

// site holds the functions that write its files, by address.
type site struct {
	raw   bool
	check func(*journal.Run) error
	pages int
	write map[string]func(io.Writer) error
}

// page adds a page. The function build makes the page when its file is written.
func (s *site) page(address string, build func() (*document.Document, error)) {
	if s.write[address] != nil {
		return
	}
	s.pages++
	s.write[address] = func(w io.Writer) error {
		d, err := build()
		if err != nil {
			return err
		}
		return html.Write(w, d)
	}
}

func made(d *document.Document) func() (*document.Document, error) {
	return func() (*document.Document, error) { return d, nil }
}

// addPages adds the pages about all runs, the reports, and the comparisons that these pages link to.
func (s *site) addPages(all []*reading, skipped []history.Skipped) {
	s.page(indexPage, made(index(all, skipped, 0, false)))
	d, comparisons := timeline(all, skipped)
	s.page(historyPage, made(d))
	earlier := earlierOf(all)
	for _, r := range all {
		s.page(r.page(reportPage), r.report)
		if before := earlier.before(r); before != nil && r.unfinished == nil {
			comparisons = append(comparisons, comparison{before.run, r.run})
		}
	}
	for _, p := range comparisons {
		s.page(p.after.compared(p.before), p.page)
	}
}

// addRun adds those files of a run that the run's chain covers, and for each directory of the run a page that lists the
// directory's files.
func (s *site) addRun(r *run) error {
	run, contents, err := journal.Contents(r.dir)
	if errors.Is(err, journal.ErrNoChain) {
		contents, err = record(r.dir)
	}
	if err == nil {
		err = s.check(run)
	}
	if err != nil {
		return err
	}
	folders := map[string][]report.File{".": nil, journal.RawDir: nil}
	for _, c := range contents {
		dir, name := path.Split(c.Name)
		f := report.File{Name: name, Size: c.Size, SHA256: c.SHA256, Note: active(name)}
		if !s.raw && strings.HasPrefix(c.Name, journal.RawDir+"/") {
			f.Note = "not published here"
		}
		if f.Note == "" {
			s.write[r.page(c.Name)] = func(w io.Writer) error { return c.Copy(w, r.dir) }
		}
		dir = path.Clean(dir)
		folders[dir] = append(folders[dir], f)
		for ; dir != "."; dir = path.Dir(dir) {
			if _, known := folders[path.Dir(dir)]; !known {
				folders[path.Dir(dir)] = nil
			}
		}
	}
	for dir := range folders {
		if dir != "." {
			above := path.Dir(dir)
			folders[above] = append(folders[above], report.File{Name: path.Base(dir) + "/", Size: -1})
		}
	}
	for dir, files := range folders {
		slices.SortFunc(files, func(a, b report.File) int { return cmp.Compare(a.Name, b.Name) })
		s.page(path.Join(r.address(), dir, indexPage), made(r.folder(dir, files)))
	}
	return nil
}

// record lists the files of a run that has no chain, since an older Tare wrote it.
func record(dir string) ([]journal.Content, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var contents []journal.Content
	for _, name := range []string{journal.ExperimentFile, journal.PlanFile, journal.EnvironmentFile, journal.TrialsFile, journal.FilesFile, journal.NotesFile} {
		text, err := input.ReadIn(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		contents = append(contents, journal.Content{Name: name, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])})
	}
	return contents, nil
}

// active returns why a raw file is not published on the web; "": it is published. A page or script in it could run in a
// browser or on the server.
func active(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".xht", ".shtml", ".mht", ".mhtml", ".svg", ".svgz", ".xml", ".xsl", ".xslt", ".js", ".mjs", ".css",
		".wasm", ".swf", ".pdf", ".php", ".cgi", ".pl", ".py", ".rb", ".asp", ".aspx", ".jsp":
		return "not published: a browser or a server might run it"
	}
	if strings.HasPrefix(name, ".") {
		return "not published: its name is hidden"
	}
	return ""
}

func (s *site) publish(ctx context.Context, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	earlier, err := readManifest(root)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(s.write))
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil && !slices.Contains(earlier, name) {
			return &InTheWay{Dir: to, File: name}
		}
	}
	// While files are written, the manifest lists both the files of the earlier site and those of the new site.
	both := slices.Compact(slices.Sorted(slices.Values(slices.Concat(earlier, names))))
	if err := writeManifest(root, both); err != nil {
		return err
	}
	for _, name := range names {
		if err := cmp.Or(ctx.Err(), writeFile(root, name, s.write[name])); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range earlier {
		if s.write[name] == nil {
			remove(root, name)
		}
	}
	return writeManifest(root, names)
}

// ErrWithin reports a site directory within the served directory: its copies would be taken for runs.
var ErrWithin = errors.New("the site would lie among the runs that it shows")

// within reports whether a path leads into the directory dir. The last elements of the path need not exist.
func within(dir, to string) bool {
	to, err := filepath.Abs(to)
	if err != nil {
		return false
	}
	rest := ""
	real, err := filepath.EvalSymlinks(to)
	for ; err != nil && filepath.Dir(to) != to; real, err = filepath.EvalSymlinks(to) {
		to, rest = filepath.Dir(to), filepath.Join(filepath.Base(to), rest)
	}
	below, err := filepath.Rel(dir, filepath.Join(real, rest))
	return err == nil && filepath.IsLocal(below)
}

// InTheWay is the error for a file that the site would replace, although no earlier site wrote it.
type InTheWay struct{ Dir, File string }

func (e *InTheWay) Error() string {
	return fmt.Sprintf("%s is there already, and no earlier site wrote it", path.Join(e.Dir, e.File))
}

// manifestFile lists the files of a site, so that the next site can replace them.
const manifestFile = "site.json"

const siteSchema = "tare.site/v1"

type manifest struct {
	Schema string   `json:"schema"`
	Files  []string `json:"files"`
}

// readManifest returns the files of the existing site; none if there is no site.
func readManifest(root *os.Root) ([]string, error) {
	text, err := input.ReadIn(root, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && m.Schema != siteSchema {
		err = fmt.Errorf("schema %q where %s is expected", m.Schema, siteSchema)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m.Files, nil
}

func writeManifest(root *os.Root, files []string) error {
	return writeFile(root, manifestFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(manifest{siteSchema, files})
	})
}

// writeFile writes a file completely or not at all.
func writeFile(root *os.Root, name string, write func(io.Writer) error) error {
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	self, err := owned.This()
	if err != nil {
		return err
	}
	unfinished := fmt.Sprintf("%s/%s%d", path.Dir(name), self.Name("output"), rand.Uint32()) // tare clean recognizes this name
	f, err := root.Create(unfinished)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(unfinished, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(unfinished))
	}
	return nil
}

// remove removes a file of an earlier site, and the directories that become empty.
func remove(root *os.Root, name string) {
	if about, err := root.Lstat(name); err != nil || about.IsDir() {
		return
	}
	for err := root.Remove(name); err == nil && path.Dir(name) != "."; name = path.Dir(name) {
		err = root.Remove(path.Dir(name)) // fails if the directory still holds other files
	}
}
