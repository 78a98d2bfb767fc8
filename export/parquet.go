package export

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
)

// parquetRow is a Row as a table of Parquet has it. Names repeat from row to row
// and are stored once, in dictionaries. A nil is a null.
type parquetRow struct {
	Run           string     `parquet:"run,dict"`
	Directory     string     `parquet:"directory,dict"`
	Cell          string     `parquet:"cell,dict"`
	Workload      string     `parquet:"workload,dict"`
	Levels        string     `parquet:"levels,dict"`
	Arm           string     `parquet:"arm,dict"`
	Role          string     `parquet:"role,dict"`
	Round         int32      `parquet:"round"`
	Attempt       int32      `parquet:"attempt"`
	Position      *int32     `parquet:"position"`
	Session       int32      `parquet:"session"`
	Start         *time.Time `parquet:"start,timestamp(microsecond)"`
	WallSeconds   *float64   `parquet:"wall_seconds"`
	Metric        string     `parquet:"metric,dict"`
	Unit          string     `parquet:"unit,dict"`
	Better        string     `parquet:"better,dict"`
	Scale         string     `parquet:"scale,dict"`
	Headline      bool       `parquet:"headline"`
	Value         *float64   `parquet:"value"`
	Valid         bool       `parquet:"valid"`
	InvalidRules  string     `parquet:"invalid_rules,dict"`
	Paired        bool       `parquet:"paired"`
	Observational string     `parquet:"observational,dict"`
}

// rowGroup is how many rows are kept in memory until they are written.
const rowGroup = 100_000

// Parquet writes the rows of a run as a Parquet file, compressed with Zstandard.
// Times are in UTC with microseconds.
func Parquet(w io.Writer, r Run) error {
	out := parquet.NewGenericWriter[parquetRow](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowGroup))
	for row := range Rows(r) {
		if _, err := out.Write([]parquetRow{typed(row)}); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

func typed(r Row) parquetRow {
	p := parquetRow{
		Run: text(r.Run), Directory: text(r.Directory), Cell: text(r.Cell), Workload: text(r.Workload), Levels: text(r.Levels),
		Arm: text(r.Arm), Role: text(string(r.Role)), Round: int32(r.Round), Attempt: int32(r.Attempt), Session: int32(r.Session),
		Metric: text(r.Metric.Name), Unit: text(r.Metric.Unit), Better: text(string(r.Metric.Better)), Scale: text(string(r.Metric.Scale)),
		Headline: r.Metric.Headline, Valid: r.Valid, InvalidRules: text(r.Rules),
		Paired: r.Paired, Observational: text(r.Observational),
	}
	if r.Position > 0 {
		position := int32(r.Position)
		p.Position = &position
	}
	if !r.Start.IsZero() {
		start := r.Start.UTC()
		p.Start = &start
	}
	if r.Wall > 0 {
		wall := r.Wall.Seconds()
		p.WallSeconds = &wall
	}
	if !math.IsNaN(r.Value) {
		p.Value = &r.Value
	}
	return p
}

// text is a string that Parquet may hold: readers refuse what is not UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
