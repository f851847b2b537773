package timetable_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

// plain is a cron expression of sets, which knows by itself when it matches.
type plain struct {
	minutes, hours, days, weekdays set
}

// set is a field: its text, and what is in it.
type set struct {
	text string
	has  func(int) bool
}

func everything() set { return set{"*", func(int) bool { return true }} }

func every(n int) set { return set{"*/" + strconv.Itoa(n), func(v int) bool { return v%n == 0 }} }

func oneOf(list ...int) set {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = strconv.Itoa(v)
	}
	return set{strings.Join(texts, ","), func(v int) bool { return slices.Contains(list, v) }}
}

func between(a, b int) set {
	return set{fmt.Sprintf("%d-%d", a, b), func(v int) bool { return a <= v && v <= b }}
}

func draw(r *rand.Rand, from, to int) set {
	n := func() int { return from + r.IntN(to-from+1) }
	switch r.IntN(5) {
	case 0, 1:
		return oneOf(n())
	case 2:
		a, b := n(), n()
		return between(min(a, b), max(a, b))
	case 3:
		return oneOf(n(), n(), n())
	}
	if from == 0 {
		return every(1 + r.IntN(to))
	}
	return oneOf(n(), n())
}

func drawPlain(r *rand.Rand) plain {
	p := plain{minutes: draw(r, 0, 59), hours: draw(r, 0, 23), days: everything(), weekdays: everything()}
	if r.IntN(3) == 0 {
		p.hours = everything()
	}
	if r.IntN(4) == 0 {
		p.minutes = everything()
	}
	if r.IntN(4) == 0 {
		p.days = draw(r, 1, 28)
	}
	if r.IntN(4) == 0 {
		p.weekdays = draw(r, 0, 6)
	}
	return p
}

func (p plain) text() string {
	return strings.Join([]string{p.minutes.text, p.hours.text, p.days.text, "*", p.weekdays.text}, " ")
}

// matches asks for a wall time. Where day and weekday are both given, either
// will do, unless one begins with a star.
func (p plain) matches(wall time.Time) bool {
	day, weekday := p.days.has(wall.Day()), p.weekdays.has(int(wall.Weekday()))
	days := day && weekday
	if p.days.text[0] != '*' && p.weekdays.text[0] != '*' {
		days = day || weekday
	}
	return p.minutes.has(wall.Minute()) && p.hours.has(wall.Hour()) && days
}

// hourly asks whether every hour will do.
func (p plain) hourly() bool {
	for h := range 24 {
		if !p.hours.has(h) {
			return false
		}
	}
	return true
}

// minute is a real minute, and what the clocks show then, as if it were UTC.
type minute struct{ at, wall time.Time }

// minutes are all from one instant up to another.
func minutes(zone *time.Location, from, to time.Time) (list []minute) {
	for at := from; !at.After(to); at = at.Add(time.Minute) {
		t := at.In(zone)
		list = append(list, minute{at, time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)})
	}
	return list
}

// walk is what the documentation says, by walking through all minutes; those
// up to after are there for what the clocks have shown before.
func (p plain) walk(list []minute, after, to time.Time) []time.Time {
	var times []time.Time
	latest := list[0].wall // that the clocks have shown
	for _, m := range list[1:] {
		if m.at.After(to) {
			break
		}
		comes := p.hourly() && p.matches(m.wall)
		if !p.hourly() {
			// All that the clocks pass for the first time: what they leave out
			// comes with what they show then.
			for w := latest.Add(time.Minute); !w.After(m.wall); w = w.Add(time.Minute) {
				comes = comes || p.matches(w)
			}
		}
		if m.wall.After(latest) {
			latest = m.wall
		}
		if comes && m.at.After(after) {
			times = append(times, m.at)
		}
	}
	return times
}

// moves are when the clocks of a zone were moved: the days to look at.
var moves = []struct{ zone, around string }{
	{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"},
	{"America/New_York", "2026-03-08"}, {"America/New_York", "2026-11-01"},
	{"Australia/Lord_Howe", "2026-04-04"}, {"Australia/Lord_Howe", "2026-10-03"}, // by half an hour
	{"Pacific/Apia", "2011-12-30"},                                         // a day that was not
	{"America/St_Johns", "2010-03-14"}, {"America/St_Johns", "2010-11-07"}, // at 00:01
	{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-17"}, // at midnight
	{"Africa/Casablanca", "2026-02-15"}, {"Africa/Casablanca", "2026-03-22"}, // twice a year, the other way
	{"Asia/Kathmandu", "2026-06-01"}, {"UTC", "2026-06-01"},
}

func TestCronIsWhatWalkingEveryMinuteFinds(t *testing.T) {
	rounds := watched.Rounds(25, 2)
	for _, m := range moves {
		t.Run(m.zone+" "+m.around, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(m.zone)
			if err != nil {
				t.Fatal(err)
			}
			day, err := time.Parse(time.DateOnly, m.around)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, uint64(day.Unix())))
			list := minutes(zone, day.Add(-48*time.Hour), day.Add(5*24*time.Hour))
			for range rounds {
				p := drawPlain(r)
				after := day.Add(-36 * time.Hour).Add(time.Duration(r.IntN(72*60)) * time.Minute)
				want := p.walk(list, after, after.Add(72*time.Hour))
				tab := table(t, domain.Schedule{Cron: p.text(), Zone: m.zone, Until: domain.Instant(after.Add(72*time.Hour).UnixMilli() + 1)})
				got := tab.Upcoming(after, len(want)+1)
				if diff := cmp.Diff(want, got, cmp.Transformer("text", func(t time.Time) string {
					return t.In(zone).Format(time.RFC3339)
				})); len(want)+len(got) > 0 && diff != "" {
					t.Fatalf("%s after %v (-want +got):\n%s", p.text(), after.In(zone), diff)
				}
			}
		})
	}
}
