package table

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/strictyaml"
	"tare/internal/importer"
)

// text returns a file's text without byte order mark. UTF-16 is an error at once; other binary data fail when they are
// read (textReader).
func text(f importer.File) (*bufio.Reader, error) {
	size := 64 << 10
	if f.Size > 0 {
		size = int(min(f.Size, int64(size)))
	}
	in := bufio.NewReaderSize(&textReader{r: importer.Bound(f, importer.Limit, "the file")}, size)
	switch head, err := in.Peek(in.Size()); {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return nil, errors.New("the file is in UTF-16: save it as CSV UTF-8")
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, _ = in.Discard(3) // discarding bytes that are in the buffer cannot fail
	}
	return in, nil
}

// textReader reads a text and fails at the first NUL byte: no field of a binary file can then grow as long as the file.
type textReader struct {
	r   io.Reader
	err error
}

func (t *textReader) Read(p []byte) (n int, err error) {
	if t.err != nil {
		return 0, t.err
	}
	n, t.err = t.r.Read(p)
	if at := bytes.IndexByte(p[:n], 0); at >= 0 {
		n, t.err = at, errors.New("the file holds NUL bytes: it is no text, or not in UTF-8")
	}
	return n, t.err
}

// Open reads the header of a table, which names the fields. The method Each of the result then reads the other lines.
func Open(f importer.File) (*Row, error) {
	in, err := text(f)
	if err != nil {
		return nil, err
	}
	return openTable(in)
}

func openTable(in *bufio.Reader) (*Row, error) {
	return open(in, func(string) bool { return true }, "", func(title string, _ []string) (string, error) { return title, nil })
}

// open reads a table's header. The separator (comma, semicolon, tab) is the one with most known titles. name returns a
// title's field, or "" for a column that is not read.
func open(in *bufio.Reader, known func(title string) bool, expected string, name func(title string, titles []string) (string, error)) (*Row, error) {
	r := &Row{unit: "line", index: map[string]int{}}
	header := ""
	for ; ; r.before++ {
		line, err := in.ReadSlice('\n') // reads a line longer than the buffer only in part; a header is then incomplete
		header = string(line)
		trimmed := strings.ToLower(strings.TrimSpace(header))
		if trimmed != "" && !strings.HasPrefix(trimmed, "sep=") { // skipped: for Excel, a file may begin with a line like "sep=;"
			break
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		if err != nil {
			return nil, err
		}
	}
	comma := separator(header, known)
	if comma == 0 {
		return nil, fmt.Errorf("line %d must be a header with columns separated by commas, semicolons or tabs, %s; it is %.60q", r.before+1, expected, strings.TrimSpace(header))
	}
	r.table = csv.NewReader(io.MultiReader(strings.NewReader(header), in))
	r.table.Comma = comma
	titles, err := r.table.Read()
	if err != nil {
		return nil, r.explain(err, titles)
	}
	r.table.ReuseRecord = true
	r.columns = len(titles)
	for i := range titles {
		titles[i] = strings.TrimSpace(titles[i])
	}
	r.next()
	for i, title := range titles {
		column, err := name(title, titles)
		if err == nil && r.Has(column) {
			err = fmt.Errorf("the column %s is there twice", column)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
		if column != "" {
			r.index[column] = i
		}
		r.Names = append(r.Names, column)
	}
	return r, nil
}

// separator returns the separator in a header: comma, semicolon or tab, whichever yields the most known titles. It
// returns 0 if none yields any.
func separator(header string, known func(title string) bool) (comma rune) {
	most := 0
	for _, c := range []rune{',', ';', '\t'} {
		if c != ',' && !strings.ContainsRune(header, c) {
			continue // the header lacks this separator, and would be read as one long title
		}
		in := csv.NewReader(strings.NewReader(header))
		in.Comma, in.LazyQuotes = c, true
		titles, _ := in.Read() // with lazy quotes, csv reads any line without an error
		n := 0
		for _, title := range titles {
			if known(strings.TrimSpace(title)) {
				n++
			}
		}
		if n > most {
			comma, most = c, n
		}
	}
	return comma
}

func (r *Row) next() {
	line, _ := r.table.FieldPos(0)
	r.line = r.before + line
}

// Each reads the lines of the table, and calls take for each.
func (r *Row) Each(take func(*Row) error) error {
	for n := 1; ; n++ {
		fields, err := r.table.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = importer.CheckCount(n)
		}
		if err != nil {
			return r.explain(err, fields)
		}
		r.next()
		r.texts = append(r.texts[:0], fields...)
		if err := take(r); err != nil {
			return err
		}
	}
}

// explain rewords an error of package csv for the user, with line and column. It returns other errors unchanged.
func (r *Row) explain(err error, fields []string) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	line := r.before + parse.Line
	place := fmt.Sprintf("line %d, column %d", line, parse.Column)
	switch {
	case errors.Is(err, csv.ErrFieldCount) && len(fields) < r.columns:
		return fmt.Errorf("line %d: %d fields where the header has %d: %w: is the file truncated?", line, len(fields), r.columns, parse.Err)
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: %d fields where the header has %d: %w", line, len(fields), r.columns, parse.Err)
	case errors.Is(err, csv.ErrBareQuote):
		return fmt.Errorf("%s: a quote inside a field that is not quoted: quote the field, and double the quote", place)
	case errors.Is(err, csv.ErrQuote):
		return fmt.Errorf("%s: a quoted field that does not end where it should: a quote inside it is written twice", place)
	}
	return fmt.Errorf("%s: %w", place, parse.Err)
}

// ReadLong reads a table with one value a row. Its other columns say what the value is; package longcsv documents them.
func ReadLong(f importer.File) ([]importer.Trial, error) {
	in, err := text(f)
	if err != nil {
		return nil, err
	}
	m := mapping{
		Round: "round", Start: "start", Workload: "csv", workload: "workload", attempt: "attempt",
		errors: "errors", valid: "valid", paired: "paired", exported: "levels", describe: describe,
	}
	isMetric := func(title string) bool { return strings.ToLower(title) == "metric" }
	r, err := open(in, isMetric, `one of them metric, as in "arm,round,metric,unit,better,value"`, m.column)
	if err != nil {
		return nil, err
	}
	for _, name := range required {
		if !r.Has(name) {
			return nil, fmt.Errorf("line %d: the column %s is missing", r.line, name)
		}
	}
	if r.Has("arm") {
		m.Arm = "arm"
	}
	trials := newAssembler(&m)
	if err := r.Each(trials.add); err != nil {
		return nil, err
	}
	if trials.rows == 0 {
		return nil, errors.New("the file has a header and no rows")
	}
	return trials.all()
}

var columns = []string{
	"arm", "round", "attempt", "cell", "workload", "metric", "unit", "better", "scale", "headline", "value", "start", "errors", "valid", "paired",
}

// required lists the columns that a long table must have. Without the column better, a wrong guess would turn costs
// into gains.
var required = []string{"metric", "better", "value"}

const factorPrefix = "factor:"

// column returns the name of the field in a column; "" for a column that is not read. Names are in lower case, except
// the name of a factor.
func (m *mapping) column(title string, titles []string) (string, error) {
	name := strings.ToLower(title)
	switch {
	case strings.HasPrefix(name, factorPrefix):
		named := strings.TrimSpace(title[len(factorPrefix):]) // from the title as written, since a factor's name keeps its case
		if named == "" {
			return "", fmt.Errorf("the column %s names no factor: it is as in factor:qps", name)
		}
		m.levels = append(m.levels, levelOf(named, factorPrefix+named))
		return factorPrefix + named, nil
	case name == "levels" || slices.Contains(columns, name):
		return name, nil
	}
	// A column of the user's own is allowed, unless its name looks like a misspelt known name.
	if near := strictyaml.Nearest(name, columns); near != "" && !slices.ContainsFunc(titles, func(t string) bool { return strings.ToLower(t) == near }) {
		return "", fmt.Errorf("unknown column %q: did you mean %s?", name, near)
	}
	return "", nil
}

func describe(r *Row) fieldMetric {
	m := experiment.Metric{Name: r.needed("metric", "name of a metric"), Unit: r.Field("unit"), Scale: experiment.Ratio}
	m.Better = experiment.Better(r.either("better", string(experiment.Higher), string(experiment.Lower)))
	if r.Field("scale") != "" {
		m.Scale = experiment.Scale(r.either("scale", string(experiment.Ratio), string(experiment.Difference)))
	}
	m.Headline = r.Yes("headline", !r.Has("headline") && m.Scale == experiment.Ratio)
	if m.Headline && m.Scale == experiment.Difference {
		r.Fail("headline", "a metric on the scale difference cannot be a headline")
	}
	return fieldMetric{Metric: m, field: "value", named: "metric", cell: cmp.Or(r.Field("cell"), r.Field("workload")), times: 1}
}

// exported reads levels that tare export wrote, such as "mtu=1500;rules=8". It skips levels in own, which have their
// own columns. Another form gives none.
func exported(r *Row, field string, own []factor.Level) (list []factor.Level) {
	for part := range strings.SplitSeq(r.Field(field), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil
		}
		if !slices.ContainsFunc(own, func(l factor.Level) bool { return l.Factor == name }) {
			list = append(list, factor.Level{Factor: intern(name), Value: intern(value)})
		}
	}
	return list
}
