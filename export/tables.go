package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"tare/report"
)

var columns = func() (names []string) {
	for _, path := range parquet.SchemaOf(Row{}).Columns() {
		names = append(names, path[0])
	}
	return names
}()

// CSV writes the rows of a run as RFC 4180 has it, but for lines that end in a
// line feed alone. Numbers have full precision; what is not known is empty, a 0 of
// what counts from 1 as well. Fields that a spreadsheet would take for a formula
// are quoted with an apostrophe.
func CSV(w io.Writer, r Run) error {
	out := csv.NewWriter(w)
	_ = out.Write(columns) // Error tells
	line := make([]string, len(columns))
	for row := range Rows(r) {
		fields := reflect.ValueOf(row)
		for i := range line {
			line[i] = field(fields.Field(i).Interface())
		}
		if out.Write(line) != nil {
			break
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// field is a field of a row as CSV has it.
func field(v any) string {
	switch v := v.(type) {
	case string:
		return report.Field(v)
	case bool:
		return strconv.FormatBool(v)
	case int32:
		return field(known(v))
	case *int32:
		if v != nil {
			return strconv.Itoa(int(*v))
		}
	case *float64:
		if v != nil {
			return number(*v)
		}
	case *time.Time:
		if v != nil {
			return v.Format(time.RFC3339Nano)
		}
	}
	return ""
}

// number writes a number so that it is read back the same.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// rowGroup is how many rows are kept in memory until they are written.
const rowGroup = 100_000

// Parquet writes the rows of a run as a Parquet file, compressed with Zstandard.
// Times are in UTC with microseconds.
func Parquet(w io.Writer, r Run) error {
	out := parquet.NewGenericWriter[Row](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowGroup))
	for row := range Rows(r) {
		fields := reflect.ValueOf(&row).Elem()
		for i := range fields.NumField() {
			if f := fields.Field(i); f.Kind() == reflect.String {
				f.SetString(strings.ToValidUTF8(f.String(), "\uFFFD")) // readers refuse what is not UTF-8
			}
		}
		if _, err := out.Write([]Row{row}); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}
