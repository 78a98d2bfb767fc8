// Package longcsv reads the plain table that a spreadsheet or any script can write, with one value a row.
//
//	arm,round,metric,unit,better,value
//	plain,1,latency,ms,lower,12.3
//	mtls,1,latency,ms,lower,14.1
//
// The header names the columns, in any order and in either case. Only metric, better and value are required. The rows
// with one arm, cell and round form a trial, wherever they stand. Without rounds, the n-th values of all metrics of an
// arm and cell form its n-th trial. Of several attempts at a round, the last one is the trial.
//
// If the column paired is false, rounds only number the trials. The column observational is ignored, since every import
// is observational.
//
// A row that cannot be read ends the import of the file, with an error that names line and column. So does a malformed
// number: thousands separators occur mostly in large values, which must not be dropped. A missing value, "NaN" or "-"
// makes only its trial invalid.
package longcsv

import (
	"tare/internal/importer"
	"tare/internal/importer/table"
)

// Format reads the long CSV.
var Format = importer.Format{
	Name:       "csv",
	Doc:        "a table with a header and one value a row: arm, round, metric, unit, better, value",
	Extensions: []string{".csv", ".tsv"},
	Read:       table.ReadLong,
}
