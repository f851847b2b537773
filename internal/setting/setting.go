package setting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Kind is what a setting holds.
type Kind string

// The kinds.
const (
	Text     Kind = "text"
	Switch   Kind = "true or false"
	Number   Kind = "number"
	Bytes    Kind = "bytes"
	Duration Kind = "duration"
	Ratio    Kind = "share from 0 to 1"
	List     Kind = "list"
	Map      Kind = "names and values"
	Blocks   Kind = "blocks" // with fields of their own, in the file alone
)

// Setting is a row of the table.
type Setting struct {
	// Key is its place in the config file, such as doors.connections; * stands for a name
	// that whoever writes the file chooses. "": it is not in the file.
	Key  string
	Kind Kind
	// Help says what it is, in one phrase that begins small; a word in backquotes is what
	// a flag's value is called.
	Help string
	// Default says in words what holds where it is not set. "": nothing.
	Default string
	// Example is a value for the example file, as it is written there. Default: Default.
	Example string
	// Flag is its name on the command line without --; variable that of its environment
	// variable. Default: made from Key; a flag without a key has the variable that is said.
	Flag     string
	variable string
	// Least and Most bound a number, or a duration in nanoseconds, other than 0. Zero says
	// what 0 means, or is [Never]. Default: the default.
	Least, Most int64
	Zero        string
	// Words are the values that it may have. None: any.
	Words []string
	// Secret is set where its value is not shown; a URL is shown without its login.
	Secret, URL bool
	// Reload is set where a node that runs takes it up at `ramet node reload`.
	Reload bool
}

// Never is for [Setting.Zero]: 0 is out of bounds, too.
const Never = "never"

// Section is a part of the table.
type Section struct {
	Title string
	// About is said of all of them. It may be "".
	About    string
	Settings []Setting
}

// All are the rows of all sections.
func All() (list []Setting) {
	for _, s := range Table {
		list = append(list, s.Settings...)
	}
	return list
}

// ByKey finds the row of a key, in which names of one's own stand for *.
func ByKey(key string) (Setting, bool) {
	for _, s := range All() {
		if s.Key != "" && fits(s.Key, key) {
			return s, true
		}
	}
	return Setting{}, false
}

// ByFlag finds the row of a flag. It is there: who asks is a command of ours.
func ByFlag(flag string) Setting {
	all := All()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Flag == flag })
	if i < 0 {
		panic("BUG: the table of settings has no flag " + flag)
	}
	return all[i]
}

// fits reports whether a key is one of a pattern.
func fits(pattern, key string) bool {
	p, k := strings.Split(pattern, "."), strings.Split(key, ".")
	return slices.EqualFunc(p, k, func(p, k string) bool { return p == k || p == "*" && k != "" })
}

// Variable is the name of the environment variable; "" where there is none: what has
// names or fields of its own stands in a file.
func (s Setting) Variable() string {
	switch {
	case s.variable != "":
		return s.variable
	case s.Key == "" || s.Kind == Blocks || strings.Contains(s.Key, "*"):
		return ""
	}
	return "RAMET_" + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// Usage is what a flag's help says; its default too, unless that is shown already.
func (s Setting) Usage(shown bool) string {
	text := s.Help
	if len(s.Words) > 0 {
		text += ": " + strings.Join(s.Words[:len(s.Words)-1], ", ") + " or " + s.Words[len(s.Words)-1]
	}
	var more []string
	if s.Default != "" && !shown {
		more = append(more, "default: "+s.Default)
	}
	if v := s.Variable(); v != "" {
		more = append(more, "$"+v)
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// Bounds says in words what values there may be; "" where all may be.
func (s Setting) Bounds() string {
	switch {
	case len(s.Words) > 0:
		return strings.Join(s.Words[:len(s.Words)-1], ", ") + " or " + s.Words[len(s.Words)-1]
	case s.Most != 0:
		return s.number(max(s.Least, 1)) + " to " + s.number(s.Most)
	case s.Least > 1 || s.Least == -1:
		return s.number(s.Least) + " or more"
	}
	return ""
}

func (s Setting) number(n int64) string {
	if s.Kind != Duration {
		return fmt.Sprint(n)
	}
	return short(time.Duration(n))
}

// short writes a duration as people do: 1h, not 1h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// check holds a value against the bounds; what it says begins with the key.
func (s Setting) check(key string, n int64) error {
	if n == 0 && s.Zero != Never || n >= s.Least && (s.Most == 0 || n <= s.Most) && (n > 0 || s.Least < 0) {
		return nil
	}
	want := s.Bounds()
	switch {
	case want == "" && s.Kind == Duration:
		want = "a positive duration such as 30s"
	case want == "":
		want = "a positive number"
	}
	if s.Zero != Never {
		want += ", or 0: " + cmp.Or(s.Zero, "the default")
	}
	return domain.Invalidf("%s is %s, want %s", key, s.number(n), want)
}
