package knb

import (
	"bytes"
	"fmt"
	"strings"

	"tare/importer"
)

// readYAML reads the result as knb prints it in YAML: maps within maps, and plain
// values, quoted or not. Nothing else of YAML is in it, and nothing else is taken.
func readYAML(text []byte) (*report, error) {
	values, err := flatten(text)
	if err != nil {
		return nil, err
	}
	r := &report{}
	for name, into := range map[string]*string{
		"metadata.generator": &r.Metadata.Generator, "metadata.version": &r.Metadata.Version, "metadata.date": &r.Metadata.Date,
		"metadata.server-node": &r.Metadata.ServerNode, "metadata.client-node": &r.Metadata.ClientNode,
		"metadata.socket-buffer-size": &r.Metadata.Buffer,
		"data.cpu":                    &r.Data.CPU, "data.kernel": &r.Data.Kernel, "data.k8s-version": &r.Data.Kubernetes, "data.mtu": &r.Data.MTU,
	} {
		*into = values[name]
	}
	for name, into := range map[string]**test{
		"data.idle": &r.Data.Idle, "data.pod2pod.tcp": &r.Data.Pod.TCP, "data.pod2pod.udp": &r.Data.Pod.UDP,
		"data.pod2svc.tcp": &r.Data.Service.TCP, "data.pod2svc.udp": &r.Data.Service.UDP,
	} {
		if _, ok := values[name]; !ok {
			continue
		}
		t := &test{}
		for key, number := range map[string]**float64{
			".bandwidth": &t.Bandwidth, ".client.cpu.total": &t.Client.CPU.Total, ".client.ram": &t.Client.Memory,
			".server.cpu.total": &t.Server.CPU.Total, ".server.ram": &t.Server.Memory,
		} {
			if *number, err = optional(values[name+key]); err != nil {
				return nil, fmt.Errorf("%s: %w", name+key, err)
			}
		}
		*into = t
	}
	return r, nil
}

// optional reads a number, or nil if there is none.
func optional(text string) (*float64, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	v, err := importer.Number(text)
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// deepest is how deep the maps may be; knb's are five deep.
const deepest = 16

// level is a map that the line that is being read may be in.
type level struct {
	indent int
	path   string // of its members, with a dot at the end
}

// flatten gives the plain values by their paths, and "" for each map.
func flatten(text []byte) (map[string]string, error) {
	values := map[string]string{}
	levels := []level{{}}
	last := "" // path of the last member, if it may be a map
	number := 0
	for line := range bytes.Lines(text) {
		number++
		content := strings.TrimRight(string(line), " \t\r\n")
		member := strings.TrimLeft(content, " ")
		if member == "" || member[0] == '#' || content == "---" {
			continue
		}
		indent := len(content) - len(member)
		if at := levels[len(levels)-1]; indent > at.indent && last != "" {
			levels = append(levels, level{indent, last + "."})
		}
		for indent < levels[len(levels)-1].indent {
			levels = levels[:len(levels)-1]
		}
		at := levels[len(levels)-1]
		name, value, ok := strings.Cut(member, ":")
		if !ok || indent != at.indent || name == "" || strings.ContainsAny(name[:1], "-?\"'&*!|>{[\t") || len(levels) > deepest {
			return nil, fmt.Errorf("line %d is not such as knb writes in YAML: %.40q", number, member)
		}
		path := at.path + name
		if _, twice := values[path]; twice {
			return nil, fmt.Errorf("line %d gives %.60q a second time", number, path)
		}
		value = unquote(strings.TrimSpace(value))
		values[path] = value
		if last = path; value != "" {
			last = ""
		}
	}
	return values, nil
}

// unquote takes quotes away. knb escapes nothing between them.
func unquote(value string) string {
	if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		return value[1 : len(value)-1]
	}
	return value
}
