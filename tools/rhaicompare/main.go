package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// config is what the flags say.
type config struct {
	reference string
	ours      string
	cases     string
	project   string // folder of the reference's Cargo project
	speed     string // folder of the scripts
	fuzz      time.Duration
	seed      uint64
	programs  int
	show      int
	strict    bool
	record    string
}

func main() {
	var c config
	flag.StringVar(&c.ours, "ours", "bin/ramet rhai", "our command, to which --jsonl or --bench is added")
	flag.StringVar(&c.reference, "reference", "", "the reference's command; empty: build it with cargo")
	flag.StringVar(&c.project, "project", "tools/rhai-reference", "the reference's Cargo project")
	flag.StringVar(&c.cases, "cases", "rhai/testdata/cases.jsonl", "recorded cases; empty: replay none")
	flag.StringVar(&c.speed, "speed", "tools/rhaicompare/speed", "folder of the scripts to measure; empty: measure nothing")
	flag.DurationVar(&c.fuzz, "fuzz", time.Minute, "how long to try random programs; 0: not at all")
	flag.Uint64Var(&c.seed, "seed", 0, "of the random programs; 0: a new one")
	flag.IntVar(&c.programs, "programs", 0, "at most so many random programs; 0: as many as fit")
	flag.IntVar(&c.show, "show", 20, "how many kinds of differences of random programs to make small and print")
	flag.BoolVar(&c.strict, "strict", false, "fail when anything differs that is not intended, or a speed target is missed")
	flag.StringVar(&c.record, "record", "", "write the answers of the reference, without its optimizer, into this file of cases, and do nothing else")
	flag.Parse()
	if err := run(os.Stdout, c); err != nil {
		fmt.Fprintln(os.Stderr, "rhaicompare:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, c config) error {
	reference := strings.Fields(c.reference)
	if len(reference) == 0 {
		built, err := buildReference(c.project)
		if err != nil {
			return err
		}
		reference = []string{built}
	}
	ours := strings.Fields(c.ours)
	if len(ours) == 0 {
		return errors.New("-ours is empty")
	}
	// Answers are those without the optimizer; speed is measured with it.
	theirs := NewEngine(append(reference[:len(reference):len(reference)], "--optimize", "none", "--seconds", "5"))
	if c.record != "" {
		defer theirs.Close()
		return record(c.record, theirs)
	}
	mine := NewEngine(ours)
	defer theirs.Close()
	defer mine.Close()

	for _, side := range []*Engine{theirs, mine} {
		if err := side.greet(); err != nil {
			return err
		}
	}

	var complaints []string
	complain := func(n int, what string) {
		if n > 0 {
			complaints = append(complaints, fmt.Sprintf("%d %s", n, what))
		}
	}
	var cases []Case
	if c.cases != "" {
		var err error
		cases, err = loadCases(c.cases)
		if err != nil {
			return err
		}
		n, err := replay(w, cases, theirs, mine)
		if err != nil {
			return err
		}
		complain(n, "recorded cases differ")
	}
	if c.fuzz > 0 {
		if c.seed == 0 {
			c.seed = uint64(time.Now().UnixNano())
		}
		f := &fuzzing{seed: c.seed, length: c.fuzz, programs: c.programs, show: c.show, scripts: breakable(cases), reference: theirs, ours: mine}
		n, err := f.run(w)
		if err != nil {
			return err
		}
		complain(n, "kinds of differences in random programs")
	}
	if c.speed != "" {
		n, err := speed(w, c.speed, reference, ours)
		if err != nil {
			return err
		}
		complain(n, "speed targets missed")
	}
	if len(complaints) == 0 {
		fmt.Fprintln(w, "all as it should be")
		return nil
	}
	summary := strings.Join(complaints, ", ")
	if c.strict {
		return errors.New(summary)
	}
	fmt.Fprintln(w, summary)
	return nil
}

// buildReference builds the Cargo project and returns its binary.
func buildReference(project string) (string, error) {
	if _, err := exec.LookPath("cargo"); err != nil {
		return "", errors.New("the reference is a Rust program and cargo is not here: install it from https://rustup.rs, " +
			"or give a built reference with -reference")
	}
	cmd := exec.Command("cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", filepath.Join(project, "Cargo.toml"))
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", project, err)
	}
	return filepath.Join(project, "target", "release", "rhai-reference"), nil
}
