package importer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/importer"
)

// study imports by a template below the directory of the files.
func study(path string, with func(*importer.Layout)) func(*importer.Options) {
	return func(o *importer.Options) {
		l := &importer.Layout{Path: filepath.ToSlash(filepath.Dir(o.Sources[0].From[0])) + "/" + path}
		if with != nil {
			with(l)
		}
		o.Sources, o.Layout = nil, l
	}
}

func TestStudy(t *testing.T) {
	blocks := func(l *importer.Layout) { l.Arm, l.Block = []string{"layer"}, []string{"cni"} }
	const template = "r/{cni}{layer:(-wg)?}/{rep}-{cell}.txt"
	files := map[string]string{
		"r/a/1-p.txt": "x s-mean 1\n", "r/a/2-p.txt": "x s-mean 2\n", "r/a-wg/1-p.txt": "x s-mean 3\n", "r/a-wg/2-p.txt": "x s-mean 4\n",
		"r/b/1-p.txt": "x s-mean 5\n", "r/b-wg/1-p.txt": "x s-mean 6\n", "r/b/1-q.txt": "x s-mean 7\n", "r/README": "-",
	}
	passed := "1 file below r passed over that the template does not match; the first is r/README"
	for name, i := range map[string]importing{
		"blocks": {files: files, arms: []string{"r"}, options: study(template, blocks), trials: `
			1 none p.x s-mean=1
			2 none p.x s-mean=2
			3 none p.x s-mean=5
			3 none q.x s-mean=7
			1 wg p.x s-mean=3
			2 wg p.x s-mean=4
			3 wg p.x s-mean=6`, notes: []string{passed}},
		"without a field for repeats": {
			files: map[string]string{"r/a/x1.txt": "x s-mean 1\n", "r/a/x2.txt": "x s-mean 2\n", "r/a-wg/y7.txt": "x s-mean 3\n", "r/a-wg/y8.txt": "x s-mean 4\n"},
			arms:  []string{"r"}, options: study("r/{cni}{layer:(-wg)?}/{_}.txt", blocks),
			trials: "1 none x s-mean=1\n2 none x s-mean=2\n1 wg x s-mean=3\n2 wg x s-mean=4"},
		"a product is a factor": {
			files: map[string]string{"r/a/1.txt": "x s-mean 1\n", "r/a-wg/1.txt": "x s-mean 2\n", "r/b/1.txt": "x s-mean 3\n", "r/b/2.txt": "x s-mean 3.5\n", "r/b-wg/1.txt": "x s-mean 4\n"},
			arms:  []string{"r"}, options: study("r/{cni}{layer:(-wg)?}/{rep}.txt", func(l *importer.Layout) { l.Arm = []string{"layer"} }),
			trials: "1 none x.cni=a s-mean=1\n2 none x.cni=b s-mean=3\n3 none x.cni=b s-mean=3.5\n1 wg x.cni=a s-mean=2\n2 wg x.cni=b s-mean=4",
			notes:  []string{"repeats of a cell are taken for independent of each other: where they share a deployment, intervals are too narrow unless --block-by names it"}},
		"twice": {
			files: map[string]string{"r/a/1-p.txt": "x s-mean 1\n", "r/a_/1-p.txt": "x s-mean 1\n", "r/a-wg/1-p.txt": "x s-mean 1\n"},
			arms:  []string{"r"}, options: study(template, blocks), err: "r/a/1-p.txt and r/a_/1-p.txt of arm none have the same block and repeat, a/1"},
		"no block with both": {
			files: map[string]string{"r/a/1-p.txt": "x s-mean 1\n", "r/b-wg/1-p.txt": "x s-mean 1\n"},
			arms:  []string{"r"}, options: study(template, blocks), err: "no block has none and another arm (none has a/1, wg has b/1)"},
		"nothing matches": {
			files: map[string]string{"r/a/1-p.json": "-"}, arms: []string{"r"}, options: study(template, blocks),
			err: "no file below "},
		"a partner is missing in one cell": {
			files: map[string]string{"r/a/1-p.txt": "x s-mean 1\n", "r/a-wg/1-p.txt": "x s-mean 2\n", "r/b/1-p.txt": "x s-mean 3\n", "r/b-wg/1-p.txt": "x s-mean 4\n",
				"r/a/1-q.txt": "x s-mean 5\n", "r/a-wg/1-q.txt": "x s-mean 6\n", "r/b-wg/1-q.txt": "x s-mean 7\n"},
			arms: []string{"r"}, options: study(template, blocks),
			trials: "1 none p.x s-mean=1\n1 none q.x s-mean=5\n2 none p.x s-mean=3\n1 wg p.x s-mean=2\n1 wg q.x s-mean=6\n2 wg p.x s-mean=4\n2 wg q.x s-mean=7",
			notes:  []string{"1 round of wg have no partner in none in q.x: b/1"}},
		"a file of which nothing is known counts where its path tells": {
			files: map[string]string{"r/a/1-p.txt": "x s-mean 1\n", "r/a-wg/1-p.txt": "what\n", "r/a-wg/2-p.txt": "x s-mean 2\n", "r/a/2-p.txt": "x s-mean 3\n", "r/a/1-q.txt": "y s-mean 1\n", "r/a-wg/1-q.txt": "y s-mean 1.5\n"},
			arms:  []string{"r"}, options: study(template, blocks),
			trials: "1 none p.x s-mean=1\n1 none q.y s-mean=1\n2 none p.x s-mean=3\n1 wg q.y s-mean=1.5\n2 wg p.x s-mean=2\n1 wg p.x import!"},
		"and once where files of its arm have different cells": {
			files: map[string]string{"a/1.txt": "x s-mean 1\n", "a/2.txt": "y s-mean 2\n", "a/3.txt": "what\n", "b/1.txt": "x s-mean 3\ny s-mean 4\n", "b/2.txt": "what\n"},
			arms:  []string{"a=a", "b=b"},
			trials: `1 a x s-mean=1
				2 a y s-mean=2
				1 b x s-mean=3
				1 b y s-mean=4
				3 a  import!
				2 b x import!
				2 b y import!`},
	} {
		t.Run(name, i.run)
	}
}

// loads makes the format read the part of a file's name after the dash as a setting.
func loads(o *importer.Options) {
	o.Format.Settings = []importer.Setting{{Name: "rate", Default: "none"}, {Name: "block size", Default: "4k"}}
	each(o, func(f importer.File, t *importer.Trial) {
		if _, rate, ok := strings.Cut(strings.TrimSuffix(filepath.Base(f.Name), ".txt"), "-"); ok {
			t.Facts = map[string]string{"rate": rate}
		}
	})
}

// A setting differs if one arm's files contain it and the other arm's files leave it at its default.
func TestSettings(t *testing.T) {
	files := map[string]string{"a/1.txt": "x s-mean 1\n", "a/2-none.txt": "x s-mean 2\ny s-mean 1\n", "b/1-2000.txt": "x s-mean 3\n", "b/2.txt": "y s-mean 3\n"}
	const trials = "1 a x s-mean=1\n2 a x s-mean=2\n2 a y s-mean=1\n1 b x s-mean=3\n2 b y s-mean=3"
	for name, i := range map[string]importing{
		"differs": {files: files, arms: []string{"a=a", "b=b"}, options: loads, trials: trials,
			notes: []string{"files of x differ in rate (a: none, b: 2000): results with different settings are not compared; --allow rate compares them nevertheless"}},
		"allowed": {files: files, arms: []string{"a=a", "b=b"}, trials: trials,
			options: func(o *importer.Options) { loads(o); o.Allow = []string{"rate"} },
			notes:   []string{"files of x differ in rate (a: none, b: 2000), which was allowed"}},
		"no such setting": {files: files, arms: []string{"a=a", "b=b"}, err: `no setting "rat" of lines`,
			options: func(o *importer.Options) { loads(o); o.Allow = []string{"rat"} }},
		"a format without settings": {files: files, arms: []string{"a=a", "b=b"}, err: `cannot allow "rate": files of lines tell no setting of the workload`,
			options: func(o *importer.Options) { o.Allow = []string{"rate"} }},
	} {
		t.Run(name, i.run)
	}
}
