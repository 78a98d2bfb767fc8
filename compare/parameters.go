package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostDepth bounds how deep parameters are looked into; what is deeper is
// compared as JSON.
const mostDepth = 16

// flatten gives the leaves of parameters by their path: "link.mtu" to "1500".
// Lists of plain values are one leaf. Parameters come from a plan as read (maps)
// or as made (structs): both go by their JSON. What is no JSON has no leaves.
func flatten(parameters any) map[string]string {
	leaves := map[string]string{}
	data, err := json.Marshal(parameters)
	if err != nil {
		return leaves
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		leaf(leaves, "", v, 0)
	}
	return leaves
}

func leaf(leaves map[string]string, path string, v any, depth int) {
	below := func(key string) string {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	switch t := v.(type) {
	case map[string]any:
		if depth < mostDepth {
			for k, v := range t {
				leaf(leaves, below(k), v, depth+1)
			}
			return
		}
	case []any:
		if depth < mostDepth && slices.ContainsFunc(t, compound) {
			for i, v := range t {
				leaf(leaves, below(strconv.Itoa(i+1)), v, depth+1)
			}
			return
		}
		words := make([]string, len(t))
		for i, v := range t {
			words[i] = scalar(v)
		}
		leaves[path] = strings.Join(words, ", ")
		return
	}
	leaves[path] = scalar(v)
}

func compound(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// scalar writes a value as it stands in the file; null is nothing.
func scalar(v any) string {
	switch t := v.(type) {
	case nil:
		return ""
	case string:
		return t
	case json.Number:
		return t.String()
	case bool:
		return strconv.FormatBool(t)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
