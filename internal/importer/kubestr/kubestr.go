// Package kubestr reads the output of `kubestr fio -o json`.
//
// The output holds a part of fio's report: mean latencies without percentiles and histogram, and few options. Package
// fio makes trials of it. Further options come from the job file, which is in the output.
//
// kubestr's default job file runs four jobs at the same time, on one volume. The result read_iops describes random
// reads while two jobs write and another one reads, and not the volume alone. A fact of the trials records this.
package kubestr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/importer"
	fioimport "tare/internal/importer/fio"
	"tare/internal/toolformat/fio"
	"tare/internal/toolformat/jsondoc"
)

// Format reads kubestr's JSON.
var Format = importer.Format{
	Name:       "kubestr",
	Doc:        "kubestr's JSON (kubestr fio -o json), which holds a report of fio",
	Extensions: []string{".json", ".txt", ".log", ".out"},
	Settings:   fioimport.Settings,
	Read:       read,
}

type output struct {
	Status []struct{ StatusCode, StatusMessage string }
	Raw    *struct {
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
	global, jobs := parse(raw.FioConfig)
	report.Options = join(report.Options, global)
	for i := range report.Jobs {
		report.Jobs[i].Options = join(report.Jobs[i].Options, jobs[report.Jobs[i].Name])
	}
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
	var found *output
	failed := ""
	err := jsondoc.Each(importer.Bound(f, importer.Limit, "the file"), func(list *[]output) error {
		for _, o := range *list {
			switch result := o.Raw != nil && len(o.Raw.Result) > 0; {
			case result && found != nil:
				return errors.New("there are two results of fio: which to take?")
			case result:
				found = &o
			case len(o.Status) > 0 && o.Status[0].StatusCode != "OK":
				failed = strings.TrimSpace(o.Status[0].StatusMessage)
			}
		}
		return nil
	})
	switch {
	case err != nil || found != nil:
		return found, err
	case failed != "":
		return nil, fmt.Errorf("kubestr reports: %s", failed)
	}
	return nil, errors.New("no result of kubestr fio: it writes one with -o json")
}

// isDefault reports whether the jobs are those of kubestr's default job file: four known names in one group, without
// latencies.
func isDefault(r *fio.Report) bool {
	names := []string{"read_iops", "write_iops", "read_bw", "write_bw"}
	if r.Options["gtod_reduce"] != "1" {
		return false
	}
	return slices.EqualFunc(r.Jobs, names, func(j fio.Job, name string) bool { return j.Name == name && j.Group == r.Jobs[0].Group })
}

// synonyms maps other names of options, which job files may use, to the names in fio's reports.
var synonyms = map[string]string{"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange"}

// join returns the options of a report. It adds options that only the job file gives.
func join(report, file fio.Options) fio.Options {
	all := fio.Options{}
	maps.Copy(all, file)
	maps.Copy(all, report)
	return all
}

// parse reads a job file: the options of its section [global] and of each job. The option `name` replaces a section's
// title as the job's name. An option without a value is 1.
func parse(text string) (global fio.Options, jobs map[string]fio.Options) {
	global, jobs = fio.Options{}, map[string]fio.Options{}
	section, options := "", global
	done := func() {
		if name := options["name"]; name != "" {
			section = name
		}
		if section != "" {
			jobs[section] = options
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok {
			done()
			section, options = strings.TrimSuffix(name, "]"), fio.Options{}
			if section == "global" {
				section, options = "", global
			}
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "1"
		}
		name = strings.ToLower(strings.TrimSpace(name))
		options[cmp.Or(synonyms[name], name)] = strings.TrimSpace(value)
	}
	done()
	return global, jobs
}
