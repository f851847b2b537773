package main

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// intended is a way in which the two sides may differ, and why that is right.
type intended struct {
	name   string
	reason string
	// holds says that this, and nothing else, is the difference of the two answers.
	holds func(c Case, reference, ours Answer) bool
}

// known lists all intended differences; the first that holds is counted.
var known = []intended{
	{
		name:   "exit-in-callback",
		reason: "the reference makes an error of exit() in a callback of a library function; here it ends the script, as everywhere else",
		holds: func(_ Case, reference, ours Answer) bool {
			return reference.Error == "Exit" && ours.Error == ""
		},
	},
	{
		name:   "blob-loop",
		reason: "the reference gives u8 values in a loop over a blob, for which it has no operators; an element is an int everywhere else",
		holds: func(c Case, reference, _ Answer) bool {
			return byteType.MatchString(text(reference)) && strings.Contains(c.Src, "for ") && strings.Contains(c.Src, "blob")
		},
	},
	{
		name:   "shared-type-name",
		reason: "1.27.0 tells the wrong type of a variable that a closure has captured by Rust's name for the cell",
		holds: func(_ Case, reference, ours Answer) bool {
			if !strings.Contains(text(reference), cellType) {
				return false
			}
			a, b := regexp.QuoteMeta(text(withoutErrors(reference))), text(withoutErrors(ours))
			like, err := regexp.Compile("^" + strings.ReplaceAll(a, regexp.QuoteMeta(cellType), `[\w()=:<>]+`) + "$")
			return err == nil && like.MatchString(b)
		},
	},
	{
		name:   "operation-count",
		reason: "how many operations a node costs is a detail of the engine",
		holds: func(_ Case, reference, ours Answer) bool {
			// Within a callback 1.27.0 wraps even this error, and so makes it one that scripts catch and print.
			const tooMany = "Too many operations"
			if reference.Error == "ErrorTerminated" {
				return true // out of time before it was out of operations
			}
			return strings.Contains(text(reference), tooMany) || strings.Contains(text(ours), tooMany)
		},
	},
	{
		name:   "float-digits",
		reason: "powers and transcendental functions may differ in the last digits between mathematics libraries",
		holds: func(_ Case, reference, ours Answer) bool {
			a, b := text(reference), text(ours)
			return number.ReplaceAllString(a, "#") == number.ReplaceAllString(b, "#") && closeNumbers(a, b)
		},
	},
	{
		name:   "closure-name",
		reason: "the digits in a closure's name are a hash; pieces of them can get past the engines' anon$*",
		holds: func(_ Case, reference, ours Answer) bool {
			a, b := text(reference), text(ours)
			return strings.Contains(a, "$") && hexDigits.ReplaceAllString(a, "#") == hexDigits.ReplaceAllString(b, "#")
		},
	},
	{
		name:   "sort-comparer",
		reason: "1.27.0 may notice that a comparer gives no order, which depends on how it sorts",
		holds: func(_ Case, reference, _ Answer) bool {
			return strings.Contains(text(reference), "error in comparer for sorting")
		},
	},
	{
		name: "data-race",
		reason: "1.27.0 holds a captured variable for the whole chain that begins with it, a.map(f).filter(g); we hold it " +
			"only while a call has it as this",
		holds: func(_ Case, reference, ours Answer) bool {
			const race = "Data race"
			return strings.Count(text(reference), race) > strings.Count(text(ours), race)
		},
	},
	{
		name: "append-size",
		reason: "1.27.0 measures an array or a blob before += adds to it, not after, and does not measure a map that gets a key by " +
			"index; sizes of texts it sums over all strings of an array",
		holds: func(_ Case, reference, ours Answer) bool {
			return (reference.Error == "ErrorDataTooLarge") != (ours.Error == "ErrorDataTooLarge") ||
				reference.Error == "ErrorDataTooLarge" && ours.Error == reference.Error
		},
	},
	{
		name:   "reversed-slice",
		reason: "1.27.0 writes the part s[7..3] back after any method call on it, which doubles characters",
		holds: func(c Case, _, _ Answer) bool {
			for _, m := range slice.FindAllStringSubmatch(c.Src, -1) {
				from, _ := strconv.Atoi(m[1])
				if to, _ := strconv.Atoi(m[2]); from > to {
					return true
				}
			}
			return false
		},
	},
	{
		name:   "reference-panic",
		reason: "where the reference panics or dies, any ordinary answer is better",
		holds: func(_ Case, reference, ours Answer) bool {
			return reference.Error == "ErrorSystem" && ours.Error != "ErrorSystem"
		},
	},
}

// intention returns the intended difference that two differing answers show, nil when it is not intended.
func intention(c Case, reference, ours Answer) *intended {
	for i := range known {
		if known[i].holds(c, reference, ours) {
			return &known[i]
		}
	}
	return nil
}

// errorMap is an error as catch gives it, shown; its message is the first group.
var errorMap = regexp.MustCompile(`#\{(?:"actual": "[^"]*", )?"error": "Error\w+".*?"message": "((?:[^"\\]|\\.)*)"(?:, "\w+": (?:"(?:[^"\\]|\\.)*"|-?\d+))*\}`)

// withoutErrors leaves only the first line of the message of errors that are shown.
func withoutErrors(a Answer) Answer {
	tidy := func(s string) string {
		return errorMap.ReplaceAllStringFunc(s, func(m string) string {
			message := errorMap.FindStringSubmatch(m)[1]
			message, _, _ = strings.Cut(message, `\n`)
			return place.ReplaceAllString(message, "")
		})
	}
	a.Print = slices.Clone(a.Print)
	for i, s := range a.Print {
		a.Print[i] = tidy(s)
	}
	if a.Expect != nil {
		a.Expect = &Value{Type: a.Expect.Type, Value: tidy(a.Expect.Value)}
	}
	return a
}

var (
	slice    = regexp.MustCompile(`\[(\d+)\.\.=?(\d+)\]`)
	place    = regexp.MustCompile(` \(line \d+, position \d+\)$`)
	byteType = regexp.MustCompile(`\bu8\b`)
)

const cellType = "alloc::rc::Rc<core::cell::RefCell<rhai::types::dynamic::Dynamic>>"

// text is v as JSON on one line, with <, > and & as they are.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: not JSON: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

// hexDigits also stand apart, as characters in an array.
var hexDigits = regexp.MustCompile(`(?i)[0-9a-f](?:[0-9a-f]|, |',? ?'|\\",? ?\\"){3,}`)

var number = regexp.MustCompile(`-?\d+\.\d+(?:e-?\d+)?`)

// closeNumbers says that the numbers with a point in two texts are the same but for one part in 2^50. One number written
// in two ways is another difference.
func closeNumbers(a, b string) bool {
	as, bs := number.FindAllString(a, -1), number.FindAllString(b, -1)
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if as[i] == bs[i] {
			continue
		}
		x, errX := strconv.ParseFloat(as[i], 64)
		y, errY := strconv.ParseFloat(bs[i], 64)
		if errX != nil || errY != nil || x == y || math.Abs(x-y) > math.Abs(x)*0x1p-50 {
			return false
		}
	}
	return true
}
