package knb

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"tare/internal/importer"
)

// assemble makes a result of the files of an archive. The file env lists the tests that ran and the names of
// their files: a test's file is named after the pod of its client.
func assemble(files map[string]string) (*report, error) {
	env, ok := files["env"]
	if !ok {
		return nil, errors.New("the archive has no file env: it is not one that knb wrote with -o data")
	}
	settings := parseEnv(env)
	r := &report{}
	r.Metadata.Generator, r.Metadata.Version, r.Metadata.Date = settings["GENERATOR"], settings["VERSION"], settings["BENCHMARK_DATE"]
	r.Metadata.ServerNode, r.Metadata.ClientNode = settings["SERVER_NODE"], settings["CLIENT_NODE"]
	r.Metadata.Buffer = settings["SOCKET_BUFFER_SIZE"]
	r.Data.CPU, r.Data.Kernel = strings.TrimSpace(files["cpu"]), strings.TrimSpace(files["kernel"])
	r.Data.Kubernetes, r.Data.MTU = strings.TrimSpace(files["k8s-version"]), strings.TrimSpace(files["mtu"])
	for _, t := range []struct {
		setting string
		into    **test
	}{
		{"IDLE_POD_NAME", &r.Data.Idle},
		{"CLIENT_TCP_P2P_POD_NAME", &r.Data.Pod.TCP},
		{"CLIENT_UDP_P2P_POD_NAME", &r.Data.Pod.UDP},
		{"CLIENT_TCP_P2S_POD_NAME", &r.Data.Service.TCP},
		{"CLIENT_UDP_P2S_POD_NAME", &r.Data.Service.UDP},
	} {
		pod := settings[t.setting]
		if pod == "" {
			continue // the test was not requested
		}
		var err error
		if *t.into, err = assembleTest(files, pod); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// parseEnv reads assignments of the form NAME="value". knb lets its shell execute the file; parseEnv executes
// nothing.
func parseEnv(text string) map[string]string {
	settings := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[name] = strings.Trim(value, `"'`)
		}
	}
	return settings
}

func assembleTest(files map[string]string, pod string) (*test, error) {
	t := &test{log: parseLog(files[pod+".log"])}
	if text := files[pod+".bw"]; strings.TrimSpace(text) != "" {
		v, err := importer.Number(text)
		if err != nil {
			return nil, fmt.Errorf("%.60q in the archive: %w", pod+".bw", err)
		}
		t.Bandwidth = &v
	}
	for side, into := range map[string]*node{"-client": &t.Client, "-server": &t.Server} {
		if err := into.average(files[pod+side+".avg"]); err != nil {
			return nil, fmt.Errorf("%.60q in the archive: %w", pod+side+".avg", err)
		}
		into.readings = parseReadings(files[pod+side+".metrics"])
	}
	return t, nil
}

// average reads a line of titles and a line of values: user, nice, system, iowait and steal in percent, and
// memory in MiB.
func (n *node) average(text string) error {
	_, line, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return nil // the monitor has no readings of that time
	}
	if len(fields) < 6 {
		return fmt.Errorf("there are %d numbers, and 6 are expected", len(fields))
	}
	numbers, err := parseNumbers(fields[:6])
	if err != nil {
		return err
	}
	cpu := total(numbers)
	n.CPU.Total, n.Memory = &cpu, &numbers[5]
	return nil
}

// total returns the CPU time of a reading, added up and rounded as knb does, including waiting and steal.
func total(numbers []float64) float64 {
	return math.Round(100*(numbers[0]+numbers[1]+numbers[2]+numbers[3]+numbers[4])) / 100
}

// parseReadings reads the single readings, which average reads summed up, with the time in s since 1970 as the
// seventh number. It skips lines of another form.
func parseReadings(text string) []reading {
	var list []reading
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 7 {
			continue
		}
		numbers, err := parseNumbers(fields)
		if err != nil || len(list) > 0 && numbers[6] <= list[len(list)-1].at {
			continue
		}
		list = append(list, reading{at: numbers[6], cpu: total(numbers), memory: numbers[5]})
	}
	return list
}

func parseNumbers(fields []string) ([]float64, error) {
	numbers := make([]float64, len(fields))
	for i, field := range fields {
		var err error
		if numbers[i], err = importer.Number(field); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}
