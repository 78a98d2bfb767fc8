// Package kubestr reads what `kubestr fio -o json` writes.
//
// It holds the report of fio, which package fio makes trials of, but not all of
// it: kubestr reads the report into types of its own and writes those, which keeps
// mean latencies and drops percentiles, the histogram and most options. The job
// file stands beside it, so that options are had from there (jobfile.go).
//
// kubestr's own job runs four jobs at the same time, on one volume: without a
// stonewall between them, fio starts them all at once. What it calls read_iops is random
// reading while two jobs write and one reads, and no figure of the volume alone.
// A fact of the trials says so.
package kubestr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"tare/importer"
	fioimport "tare/importer/fio"
	"tare/toolformat/fio"
	"tare/toolformat/jsondoc"
)

// Format reads kubestr's JSON.
var Format = importer.Format{
	Name:       "kubestr",
	Doc:        "kubestr's JSON (kubestr fio -o json), which holds a report of fio",
	Extensions: []string{".json", ".txt", ".log", ".out"},
	Read:       read,
}

type output struct {
	TestName string
	Status   []struct{ StatusCode, StatusMessage string }
	Raw      *struct {
		Size         string `json:"size"`
		StorageClass struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Provisioner string `json:"provisioner"`
			BindingMode string `json:"volumeBindingMode"`
		} `json:"storageClass"`
		FioConfig string          `json:"fioConfig"`
		Result    json.RawMessage `json:"result"`
	}
}

func read(f importer.File) ([]importer.Trial, error) {
	result, err := find(f)
	if err != nil {
		return nil, err
	}
	raw := result.Raw
	report, err := fio.Parse(bytes.NewReader(raw.Result))
	if err != nil {
		return nil, fmt.Errorf("fio's report within kubestr's: %w", err)
	}
	complete(report, raw.FioConfig)
	facts := map[string]string{
		"storage class":  raw.StorageClass.Metadata.Name,
		"provisioner":    raw.StorageClass.Provisioner,
		"volume binding": raw.StorageClass.BindingMode,
		"volume size":    raw.Size,
	}
	if isDefault(report) {
		facts["job file"] = "kubestr's own: four jobs at the same time on one volume"
	}
	trials := fioimport.Trials(report)
	for _, t := range trials {
		maps.Copy(t.Facts, facts)
	}
	return trials, nil
}

func find(f importer.File) (*output, error) {
	documents := jsondoc.New(importer.Bound(f, importer.Limit, "the file"))
	var found *output
	failed := ""
	for {
		decoder, err := documents.Next()
		switch {
		case errors.Is(err, io.EOF) && found != nil:
			return found, nil
		case errors.Is(err, io.EOF) && failed != "":
			return nil, fmt.Errorf("kubestr reports: %s", failed)
		case errors.Is(err, io.EOF) && documents.Blank():
			return nil, errors.New("the file is empty")
		case errors.Is(err, io.EOF):
			return nil, errors.New("no result of kubestr fio: it writes one with -o json")
		case err != nil:
			return nil, err
		}
		var list []output
		if err := decoder.Decode(&list); err != nil {
			return nil, jsondoc.Explain(err)
		}
		for i := range list {
			switch {
			case list[i].Raw != nil && len(list[i].Raw.Result) > 0 && found != nil:
				return nil, errors.New("there are two results of fio: which to take?")
			case list[i].Raw != nil && len(list[i].Raw.Result) > 0:
				found = &list[i]
			case len(list[i].Status) > 0 && list[i].Status[0].StatusCode != "OK":
				failed = strings.TrimSpace(list[i].Status[0].StatusMessage)
			}
		}
	}
}

// isDefault says whether the jobs are those that kubestr runs if it is not told
// otherwise: of these names, of one group and without latencies.
func isDefault(r *fio.Report) bool {
	names := []string{"read_iops", "write_iops", "read_bw", "write_bw"}
	if len(r.Jobs) != len(names) || r.Options["gtod_reduce"] != "1" {
		return false
	}
	for i, j := range r.Jobs {
		if j.Name != names[i] || j.Group != r.Jobs[0].Group {
			return false
		}
	}
	return true
}
