// Command manpages writes a manual page for each command of the command line
// into a folder: go run ./tools/manpages FOLDER. Two runs write the same bytes.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/ramet-run/ramet/door/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manpages FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

// write makes the pages in a folder that may not be there yet. They are dated
// by SOURCE_DATE_EPOCH (seconds), or 1970 where that is not set.
func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// What stands in help as a default must not be that of whoever builds.
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "RAMET_") || strings.HasPrefix(name, "XDG_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", "/home/YOU")
	var seconds int64
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		var err error
		if seconds, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
	}
	date := time.Unix(seconds, 0).UTC()
	root := cli.Commands()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "Ramet", Manual: "Ramet"}, folder)
}
