package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"
)

// fuzzing is one run of random programs through both engines.
type fuzzing struct {
	seed     uint64
	length   time.Duration // of the whole run, without the last program's minimising
	programs int           // at most so many; 0 is no limit. The same number gives the same run on any machine
	show     int           // at most so many different differences are made small and printed
	scripts  []string      // that are broken beside the random programs: they know more of the grammar

	reference, ours asker

	asked, parsed, ran int            // programs, whole ones only for parsed and ran
	broken             int            // programs that were broken on purpose
	differ             tally          // all
	intended           map[string]int // by name
	seen               map[string]int // by signature
}

// asker is what answers cases: an [Engine].
type asker interface {
	Ask(Case) (Answer, error)
}

// What one difference may cost while it is made small. Time, because a script that hangs takes seconds to ask.
const (
	budget  = 1500 // questions
	longest = 15 * time.Second
)

// run prints what differs and returns how many signatures of unintended differences there are.
func (f *fuzzing) run(w io.Writer) (int, error) {
	fmt.Fprintf(w, "== fuzz: seed %d, for %v\n", f.seed, f.length)
	functions, err := parseLibrary(libraryText)
	if err != nil {
		return 0, err
	}
	g := newGenerator(functions)
	f.intended, f.seen = map[string]int{}, map[string]int{}
	for end := time.Now().Add(f.length); time.Now().Before(end) && (f.programs == 0 || f.asked < f.programs); {
		if err := f.one(w, g); err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(w, "whole programs: %d, %d parse, %d of them run to their end; broken ones: %d\n", f.asked-f.broken, f.parsed, f.ran, f.broken)
	fmt.Fprintf(w, "answers of %s\n", f.differ)
	for _, k := range known {
		if n := f.intended[k.name]; n > 0 {
			fmt.Fprintf(w, "intended: %6d %s (%s)\n", n, k.name, k.reason)
		}
	}
	signatures := make([]string, 0, len(f.seen))
	for s := range f.seen {
		signatures = append(signatures, s)
	}
	slices.SortFunc(signatures, func(a, b string) int { return f.seen[b] - f.seen[a] })
	for _, s := range signatures {
		fmt.Fprintf(w, "differs:  %6d %s\n", f.seen[s], s)
	}
	return len(f.seen), nil
}

// one asks one program, which depends on nothing but the seed and its number.
func (f *fuzzing) one(w io.Writer, g *generator) error {
	f.asked++
	r := rand.New(rand.NewPCG(f.seed, uint64(f.asked)))
	src := g.program(r)
	broken := f.asked%2 == 0
	if broken {
		f.broken++
		if len(f.scripts) > 0 && f.asked%8 != 0 {
			src = f.scripts[r.IntN(len(f.scripts))]
		}
		src = breakProgram(r, src)
	}
	c := Case{ID: fmt.Sprintf("fuzz/%d_%d", f.seed, f.asked), Src: src, Opts: json.RawMessage(options)}
	ref, ours, err := f.both(c)
	if err != nil {
		return err
	}
	if !broken && ref.Error != "ErrorParsing" {
		f.parsed++
		if ref.Error == "" {
			f.ran++
		}
	}
	level := compare(ref, ours)
	f.differ[level]++
	if level == Same {
		return nil
	}
	if k := intention(c, ref, ours); k != nil {
		f.intended[k.name]++
		return nil
	}
	s := signature(level, ref, ours)
	f.seen[s]++
	if f.seen[s] > 1 || len(f.seen) > f.show {
		return nil
	}
	return f.explain(w, c, s)
}

// both asks both sides at the same time.
func (f *fuzzing) both(c Case) (ref, ours Answer, err error) {
	var failed error
	var theirs sync.WaitGroup
	theirs.Go(func() { ref, failed = f.reference.Ask(c) })
	ours, err = f.ours.Ask(c)
	theirs.Wait()
	return ref, ours, cmp.Or(failed, err)
}

// breakable returns the scripts of recorded cases that are safe to break: a change must not make them wait or read the
// clock, and they need nothing but a plain engine.
func breakable(cases []Case) []string {
	var scripts []string
	for _, c := range cases {
		plain := c.Mode == "" && c.Opts == nil && c.Modules == nil && c.Scope == nil && c.ConstScope == nil
		if plain && !clock.MatchString(c.Src) && len(c.Src) < 2000 {
			scripts = append(scripts, c.Src)
		}
	}
	return scripts
}

var clock = regexp.MustCompile(`sleep|timestamp|elapsed|get_fn_metadata_list`)

// explain prints the smallest script found that differs in the same way.
func (f *fuzzing) explain(w io.Writer, c Case, s string) error {
	var failed error
	end := time.Now().Add(longest)
	c.Src = minimise(c.Src, budget, func(src string) bool {
		if failed != nil || time.Now().After(end) {
			return false
		}
		c.Src = src
		ref, ours, err := f.both(c)
		failed = err
		level := compare(ref, ours)
		return err == nil && level != Same && intention(c, ref, ours) == nil && signature(level, ref, ours) == s
	})
	if failed != nil {
		return failed
	}
	ref, ours, err := f.both(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "-- %s\n%s\n   ours %.1000s\n", s, ready(c, ref), text(ours))
	return nil
}

// caught is an error as scripts see it, a map, with its kind and the first words of its message.
var caught = regexp.MustCompile(`"error": "(\w+)".*"message": "([^:"\\]*)`)

var digits = regexp.MustCompile(`\d+`)

var details = regexp.MustCompile(`'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?`)

// signature tells kinds of differences apart: by level, and by the kinds of the two answers. Names, texts and numbers
// are left out. For printed lines it is the first line that differs.
func signature(level Level, ref, ours Answer) string {
	return fmt.Sprintf("%s: %s | %s", level, gist(level, ref, ours), gist(level, ours, ref))
}

func gist(level Level, a, other Answer) string {
	clean := func(s string) string {
		if s = details.ReplaceAllString(s, "#"); len(s) > 100 {
			s = s[:100]
		}
		return s
	}
	if level != What {
		return clean(fmt.Sprintf("%s %s %s", a.Error, a.ParseError, a.Message))
	}
	for i, line := range a.Print {
		if i >= len(other.Print) || other.Print[i] != line {
			if e := caught.FindStringSubmatch(line); e != nil {
				return "catches " + e[1] + " " + digits.ReplaceAllString(e[2], "#")
			}
			return "prints " + clean(line)
		}
	}
	if a.Error != "" {
		return clean(a.Error + " " + a.ParseError + " " + a.Message)
	}
	if a.Expect != nil {
		return "gives " + a.Expect.Type
	}
	return "nothing"
}
