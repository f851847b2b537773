package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

// measurement is a line of --bench, one a file, in order:
//
//	{"file":"speed/fibonacci.rhai","rounds":3,"compile_ms":0.031,"run_ms":312.5,"result":"832040"}
//
// The two times are CPU time of the whole process (collector included), each the least of the rounds: compile from text
// to something that runs, and run of it, on an engine made once. `--rounds N` says how many. Result is the value's
// display text, at most 200 characters, so that both sides can be seen to do the same work. A file that fails has error
// in place of all three.
type measurement struct {
	File      string  `json:"file"`
	CompileMS float64 `json:"compile_ms"`
	RunMS     float64 `json:"run_ms"`
	Result    string  `json:"result"`
	Error     string  `json:"error"`
}

// targets say how many times faster than the reference's tree walker we must be. 1: no slower. Other scripts are only shown.
var targets = map[string]float64{
	"fibonacci":         8,
	"primes":            6,
	"speed_test":        8,
	"while_1m":          8,
	"for_sum_1m":        8,
	"mat_mul":           5,
	"strings_map":       2,
	"array_300k":        4.8,
	"map_filter_reduce": 8,
	"sort_closure":      4,
	"throw_catch":       1,
	"parse":             1,
}

const (
	turns        = 3  // how often each script runs on each side, in turns
	rounds       = 3  // within one turn
	parseCopies  = 20 // of speed/parse.rhai in the script whose compilation is measured
	parseMeasure = "parse"
)

// speed measures every script of the folder on both sides and returns how many targets were missed.
func speed(w io.Writer, folder string, reference, ours []string) (int, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.rhai"))
	if err != nil || len(files) == 0 {
		return 0, cmp.Or(err, fmt.Errorf("no scripts in %s", folder))
	}
	temp, err := os.MkdirTemp("", "rhaicompare")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)

	fmt.Fprintf(w, "== speed: CPU time in ms, least of %d\n", turns*rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "script\treference\tours\ttimes faster\ttarget\t\t")
	missed := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".rhai")
		if name == parseMeasure {
			if file, err = bigScript(file, temp); err != nil {
				return 0, err
			}
		}
		ref, got, err := inTurns(file, reference, ours)
		if err != nil {
			return 0, err
		}
		verdict := ""
		switch target := targets[name]; {
		case ref.Error+got.Error != "" || ref.Result != got.Result:
			missed++
			verdict = fmt.Sprintf("reference %q, ours %q", cmp.Or(ref.Error, ref.Result), cmp.Or(got.Error, got.Result))
			fmt.Fprintf(table, "%s\t-\t-\t-\t%s\t%s\t\n", name, times(target), verdict)
			continue
		case target > 0 && ref.RunMS/got.RunMS < target:
			missed++
			verdict = "missed"
		}
		fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%.1f\t%s\t%s\t\n", name, ref.RunMS, got.RunMS, ref.RunMS/got.RunMS, times(targets[name]), verdict)
	}
	return missed, table.Flush()
}

func times(target float64) string {
	if target == 0 {
		return "-"
	}
	return strconv.FormatFloat(target, 'f', 1, 64)
}

// inTurns measures one script; of the script for parsing, RunMS is the time of compiling.
func inTurns(file string, reference, ours []string) (ref, got measurement, err error) {
	for turn := range turns {
		for _, side := range []struct {
			command []string
			best    *measurement
		}{{reference, &ref}, {ours, &got}} {
			m, err := measure(side.command, file)
			if err != nil {
				return ref, got, err
			}
			if strings.HasPrefix(filepath.Base(file), parseMeasure) {
				m.RunMS = m.CompileMS
			}
			if turn == 0 || m.Error != "" || m.RunMS < side.best.RunMS {
				*side.best = m
			}
		}
	}
	return ref, got, nil
}

func measure(command []string, file string) (measurement, error) {
	args := append(append([]string(nil), command[1:]...), "--bench", "--rounds", strconv.Itoa(rounds), file)
	var out, problem bytes.Buffer
	cmd := exec.Command(command[0], args...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return measurement{}, fmt.Errorf("%s %s: %w: %s", command[0], strings.Join(args, " "), err, problem.String())
	}
	var m measurement
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		return measurement{}, fmt.Errorf("%s %s: %w: %.200s", command[0], strings.Join(args, " "), err, out.Bytes())
	}
	return m, nil
}

// bigScript writes copies of a script into one; what ends in _0 is renamed in each.
func bigScript(file, folder string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for i := range parseCopies {
		all.WriteString(strings.ReplaceAll(string(text), "_0", fmt.Sprintf("_%d", i)))
	}
	big := filepath.Join(folder, filepath.Base(file))
	return big, os.WriteFile(big, []byte(all.String()), 0o600)
}
