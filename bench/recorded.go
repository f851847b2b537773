package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// recordedPath is where the ratios are recorded, seen from the repository.
const recordedPath = "bench/recorded.json"

// slack is how much worse than recorded a ratio may be: what DESIGN calls a
// regression begins above it.
const slack = 1.10

// A check takes few rounds, and more for the ratios that look worse: other
// programs can only add to a cost, so what is no regression gets there.
const (
	recordRounds = 7
	checkRounds  = 2
	moreRounds   = 6
)

// finding is one ratio as it was measured.
type finding struct {
	Name  string  `json:"name"`
	Ratio float64 `json:"ratio"`
	// Ours and Other are the two costs, in microseconds of processor time.
	Ours  float64 `json:"ours_us"`
	Other float64 `json:"other_us"`
	// Slack is how much worse than recorded it may be. Default: [slack].
	Slack float64 `json:"-"`
}

// recorded is the file of the last recorded ratios.
type recorded struct {
	Date    string    `json:"date"`
	Machine string    `json:"machine"`
	Command string    `json:"command"`
	Ratios  []finding `json:"ratios"`
}

// record measures all ratios and writes them down.
func record(path string) error {
	found := least{}
	for range recordRounds {
		if err := found.round(ratios); err != nil {
			return err
		}
	}
	r := recorded{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Command: "make bench-record"}
	for _, of := range ratios {
		r.Ratios = append(r.Ratios, found.of(of))
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// machine says on what it was measured.
func machine() string {
	name := "unknown processor"
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			name = strings.TrimSpace(value)
			break
		}
	}
	kernel, _ := exec.Command("uname", "-sr").Output()
	return fmt.Sprintf("%d x %s, %s, %s", runtime.NumCPU(), name, strings.TrimSpace(string(kernel)), runtime.Version())
}

// checkRecorded measures the ratios again and compares them with the recorded
// ones.
//
// Errors: one that names every ratio that is worse.
func checkRecorded(path string, out io.Writer) error {
	last, err := readRecorded(path)
	if err != nil {
		return err
	}
	if here := machine(); here != last.Machine {
		fmt.Fprintf(out, "recorded on another machine: %s; this is %s\n", last.Machine, here)
	}
	found := least{}
	for range checkRounds {
		if err := found.round(ratios); err != nil {
			return err
		}
	}
	for range moreRounds {
		again := slices.DeleteFunc(slices.Clone(ratios), func(r ratio) bool { return last.compare(found.of(r)) == nil })
		if len(again) == 0 {
			break
		}
		if err := found.round(again); err != nil {
			return err
		}
	}
	var worse []error
	for _, r := range ratios {
		f := found.of(r)
		err := last.compare(f)
		if err != nil {
			worse = append(worse, err)
			continue
		}
		fmt.Fprintf(out, "ok    %s: %.3f, recorded %.3f\n", f.Name, f.Ratio, last.named(f.Name).Ratio)
	}
	return errors.Join(worse...)
}

func readRecorded(path string) (last recorded, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return last, fmt.Errorf("no ratios are recorded in %s; run make bench-record in the repository", path)
	}
	if err != nil {
		return last, err
	}
	if err := json.Unmarshal(text, &last); err != nil {
		return last, fmt.Errorf("read %s: %w", path, err)
	}
	return last, nil
}

// named is the recorded ratio of a name, or the zero one.
func (r recorded) named(name string) finding {
	for _, f := range r.Ratios {
		if f.Name == name {
			return f
		}
	}
	return finding{}
}

// compare says what is wrong with a ratio that was found: it is worse than the
// recorded one, or there is none, or it could not be measured.
func (r recorded) compare(found finding) error {
	last := r.named(found.Name).Ratio
	switch {
	case last == 0:
		return fmt.Errorf("%s: found %.3f, nothing is recorded; run make bench-record", found.Name, found.Ratio)
	case math.IsNaN(found.Ratio) || math.IsInf(found.Ratio, 0) || found.Ratio <= 0:
		return fmt.Errorf("%s: not measured, recorded %.3f", found.Name, last)
	case found.Ratio > last*cmp.Or(found.Slack, slack):
		return fmt.Errorf("%s: found %.3f, recorded %.3f, %.0f %% worse", found.Name, found.Ratio, last, 100*(found.Ratio/last-1))
	}
	return nil
}

// rounded keeps three places: the noise is above that.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
