// Command image writes Tare's image.
package main

import (
	"context"
	"fmt"
	"os"

	"tare/test/cluster/image"
)

func main() {
	if err := build(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func build(binary, out string) error {
	img, err := image.Tools(context.Background())
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	img.Reference = "tare:latest"
	img.Entrypoint = []string{"/usr/bin/tare"}
	for i := range img.Entries {
		if img.Entries[i].Path == "/etc/passwd" {
			img.Entries[i].Content = append(img.Entries[i].Content, "tare:x:65532:65532:tare:/tmp:/bin/sh\n"...)
		}
	}
	img.Entries = append(img.Entries, image.Entry{Path: "/usr/bin/tare", Mode: 0o755, Content: content})
	dir, err := os.MkdirTemp("", "tare-image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := img.Cached(dir)
	if err != nil {
		return err
	}
	archive, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(out, archive, 0o644)
}
