package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/ramet-run/ramet/internal/leash"
)

// This file measures other programs beside Ramet: each in turn, for several
// rounds, so that what else happens on the machine meets all of them.

// besideMeasures are Ramet's own, without -what.
const besideMeasures = "drain"

// side is one of those that are compared.
type side struct {
	name string
	run  func(out io.Writer) error
}

// readSides reads the commands of other programs: one a line, for the shell;
// each prints its figures as one JSON object. "#" begins a comment.
func readSides(in io.Reader) (sides []side, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sides = append(sides, side{line, func(out io.Writer) error {
			cmd := exec.Command("sh", "-c", line)
			cmd.Stdout, cmd.Stderr = out, os.Stderr
			return leash.Run(cmd, syscall.SIGKILL)
		}})
	}
	return sides, lines.Err()
}

// ownSides are Ramet's measures on each of the boards.
func ownSides(measures, boards string) (sides []side) {
	for _, m := range strings.Split(measures, ",") {
		for _, b := range strings.Split(boards, ",") {
			sides = append(sides, side{m + " " + b, func(out io.Writer) error { return measureApart(trial{m, b, *jobs}, out) }})
		}
	}
	return sides
}

// beside measures all sides in turn, for some rounds, and prints each line of
// figures as it comes, and then what they have in the middle.
func beside(sides []side, rounds int, out io.Writer) error {
	found := map[string]map[string][]float64{} // side, figure
	for range rounds {
		for _, s := range sides {
			var text bytes.Buffer
			if err := s.run(&text); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			var f figures
			if err := json.Unmarshal(text.Bytes(), &f); err != nil {
				return fmt.Errorf("%s: want one JSON object with its figures: %w", s.name, err)
			}
			fmt.Fprintf(out, "%s\t%s\n", s.name, bytes.TrimSpace(text.Bytes()))
			if found[s.name] == nil {
				found[s.name] = map[string][]float64{}
			}
			for name, value := range f {
				if x, number := value.(float64); number {
					found[s.name][name] = append(found[s.name][name], x)
				}
			}
		}
	}
	for _, s := range sides {
		line, err := json.Marshal(middles(found[s.name]))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "median of %d\t%s\t%s\n", rounds, s.name, line)
	}
	return nil
}

// middles are the medians of each figure.
func middles(of map[string][]float64) figures {
	f := figures{}
	for name, values := range of {
		slices.Sort(values)
		f[name] = values[len(values)/2]
	}
	return f
}
