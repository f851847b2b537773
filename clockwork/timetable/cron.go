package timetable

import (
	"regexp"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"github.com/ramet-run/ramet/domain"
)

// cron is a cron expression in a zone.
type cron struct {
	expr   string // six fields in gronx's words
	zone   *time.Location
	hourly bool // every hour will do
}

// field is one of the fields of an expression.
type field struct {
	name, want string
	letters    *regexp.Regexp
}

// number, range and step, which every field may have; a list of them is cut
// before.
const plain = `(\*|\?|[0-9]{1,2}(-[0-9]{1,2})?)(/[0-9]{1,2})?`

var (
	plainField   = regexp.MustCompile(`^` + plain + `$`)
	dayField     = regexp.MustCompile(`^(` + plain + `|L|[0-9]{1,2}W)$`)
	monthField   = named("JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC", "")
	weekdayField = named("SUN|MON|TUE|WED|THU|FRI|SAT", "(L|#[1-5])")
)

// named is a field whose numbers have names, too, with what may follow one.
func named(names, tail string) *regexp.Regexp {
	one := `([0-9]{1,2}|` + names + `)`
	text := `(\*|\?|` + one + `(-` + one + `)?)(/[0-9]{1,2})?`
	if tail != "" {
		text += `|` + one + tail
	}
	return regexp.MustCompile(`^(` + text + `)$`)
}

// fields are those of an expression, in order; gronx counts them from 0.
var fields = []field{
	{"second", "0 to 59", plainField},
	{"minute", "0 to 59", plainField},
	{"hour", "0 to 23", plainField},
	{"day of the month", "1 to 31, L for the last, 15W for the working day next to the 15th", dayField},
	{"month", "1 to 12 or JAN to DEC", monthField},
	{"day of the week", "0 to 7 or SUN to SAT, 5L for the last Friday, MON#2 for the second Monday", weekdayField},
}

const hourField = 2

// aliases stand for expressions.
var aliases = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseCron reads an expression of five fields, or six with seconds first.
//
// Errors: [domain.ErrInvalid].
func parseCron(text string, zone *time.Location) (cron, error) {
	expr := strings.ToUpper(text)
	if alias, ok := aliases[strings.ToLower(strings.TrimSpace(text))]; ok {
		expr = alias
	}
	parts := strings.Fields(expr)
	if len(parts) == 5 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != len(fields) {
		return cron{}, domain.Invalidf("cron %q: want five fields (minute, hour, day of the month, month, day of the week), or six with seconds first", text)
	}
	for i, f := range fields {
		for item := range strings.SplitSeq(parts[i], ",") {
			if !f.letters.MatchString(item) {
				return cron{}, f.fault(text, item)
			}
		}
	}
	numbers, err := gronx.Segments(strings.Join(parts, " ")) // for names
	if err != nil {
		return cron{}, domain.Invalidf("cron %q: %v", text, err)
	}
	for i, f := range fields {
		// Item by item: gronx looks no further than the first that fits.
		for item := range strings.SplitSeq(numbers[i], ",") {
			if _, err := checker(time.Unix(0, 0)).CheckDue(item, i); err != nil {
				return cron{}, f.fault(text, item)
			}
		}
	}
	c := cron{expr: strings.Join(numbers, " "), zone: zone, hourly: everyHour(numbers[hourField])}
	// The calendar repeats itself every 400 years, and what comes at all comes
	// within 40.
	if _, ok := c.next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); !ok {
		return cron{}, domain.Invalidf("cron %q: there is no such day", text)
	}
	return c, nil
}

func (f field) fault(cron, item string) error {
	return domain.Invalidf("cron %q: %s %q: want %s; also *, 1-5, 1,3 and */5", cron, f.name, item, f.want)
}

// checker looks at fields as they are at an instant.
func checker(at time.Time) *gronx.SegmentChecker {
	var c gronx.SegmentChecker
	c.SetRef(at.UTC())
	return &c
}

// everyHour reports whether an hour field has all of them.
func everyHour(hours string) bool {
	for h := range 24 {
		at := time.Date(2000, 1, 1, h, 0, 0, 0, time.UTC)
		if due, err := checker(at).CheckDue(hours, hourField); !due || err != nil {
			return false
		}
	}
	return true
}

// next is the first time after an instant.
func (c *cron) next(after time.Time) (time.Time, bool) {
	if c.hourly {
		return c.nextShown(after)
	}
	// What the clocks showed until now has come. What they show from here on
	// may be of the hour that they show a second time: that has come too.
	for wall := wallOf(after, c.zone); ; {
		next, ok := c.tick(wall, false)
		if !ok {
			return time.Time{}, false
		}
		if at := moment(next, c.zone); at.After(after) {
			return at, true
		}
		wall = next
	}
}

// nextShown is the first moment after an instant at which the clocks show a
// matching time, looked for from one move of the clocks to the next.
func (c *cron) nextShown(after time.Time) (time.Time, bool) {
	at, included := after.In(c.zone), false
	for {
		_, end := bounds(at)
		next, ok := c.tick(wallOf(at, c.zone), included)
		if !ok {
			return time.Time{}, false
		}
		if next = onClock(next, at); end.IsZero() || next.Before(end) {
			return next, true
		}
		at, included = end, true
	}
}

// tick is the next time of the expression on a clock that is never moved.
func (c *cron) tick(wall time.Time, included bool) (time.Time, bool) {
	next, err := gronx.NextTickAfter(c.expr, wall.Truncate(time.Second), included)
	return next, err == nil
}
