package kubestr

import (
	"maps"
	"strings"

	"tare/internal/toolformat/fio"
)

// synonyms maps names of options in job files to the names in fio's reports.
var synonyms = map[string]string{"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange"}

// complete adds the options of the job file that kubestr left out of the report.
func complete(r *fio.Report, jobFile string) {
	global, jobs := parse(jobFile)
	r.Options = join(r.Options, global)
	for i := range r.Jobs {
		r.Jobs[i].Options = join(r.Jobs[i].Options, jobs[r.Jobs[i].Name])
	}
}

// join returns the options, with those added that only more contains.
func join(options, more fio.Options) fio.Options {
	all := fio.Options{}
	maps.Copy(all, more)
	maps.Copy(all, options)
	return all
}

// parse reads a job file: the options of [global] and those of each job. A job's name is the title of its
// section, or its option name. An option without a value has the value 1.
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
		if known := synonyms[name]; known != "" {
			name = known
		}
		options[name] = strings.TrimSpace(value)
	}
	done()
	return global, jobs
}
