package console

import (
	"fmt"
	"time"
)

// moment is an instant as people see it: how long ago, and exactly. The zero moment is
// none.
type moment struct {
	Ms int64
	// Ago is short, as "2 m"; In says that it is still to come.
	Ago string
	In  bool
	// Exact is the instant with its zone, as people read it; ISO as programs do.
	Exact, ISO string
	// Clock is the time of day alone.
	Clock string
}

// at is an instant in Unix milliseconds, as the page is made; 0 is none.
func (v *visit) at(ms int64) moment { return momentOf(ms, v.now) }

// past is an instant at which something has happened. A page that takes some time reads of what happened since it was
// begun, and the clocks of nodes differ: that is now, not still to come.
func (v *visit) past(ms int64) moment {
	m := v.at(ms)
	if m.In {
		m.In, m.Ago = false, span(0)
	}
	return m
}

func momentOf(ms int64, now time.Time) moment {
	if ms == 0 {
		return moment{}
	}
	t := time.UnixMilli(ms)
	d := now.Sub(t)
	return moment{Ms: ms, Ago: farOff(d.Abs()), In: d < 0, Exact: t.Format("2006-01-02 15:04:05.000 MST"),
		Clock: t.Format("15:04:05.000"), ISO: t.UTC().Format("2006-01-02T15:04:05.000Z")}
}

// since is how long ago an instant is, in Unix milliseconds.
func (v *visit) since(ms int64) time.Duration { return v.now.Sub(time.UnixMilli(ms)) }

// farOff is how far an instant is: of ten minutes and more nobody wants the seconds.
func farOff(d time.Duration) string {
	if d >= 10*time.Minute && d < time.Hour {
		return fmt.Sprintf("%d m", int(d.Minutes()))
	}
	return span(d)
}

// span is a length of time in one unit, or two where one would say too little.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Truncate(time.Second).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d m", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// took is how long something went from one instant to another, or has gone up to now; ""
// where it has not begun.
func (v *visit) took(fromMs, toMs int64) string {
	if fromMs == 0 {
		return ""
	}
	to := v.now
	if toMs != 0 {
		to = time.UnixMilli(toMs)
	}
	return span(max(0, to.Sub(time.UnixMilli(fromMs))))
}
