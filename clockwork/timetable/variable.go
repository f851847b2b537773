package timetable

import (
	"strconv"
	"time"
)

// Variables are the values of the schedule's variables for one of its times.
// counts are the next values of those that count, as they have become.
func (t *Table) Variables(at time.Time, counts map[string]int64) map[string]string {
	values := make(map[string]string, len(t.schedule.Variables))
	for name, v := range t.schedule.Variables {
		switch {
		case v.Const != nil:
			values[name] = *v.Const
		case v.Count != nil:
			n, counted := counts[name]
			if !counted {
				n = v.Count.Next
			}
			values[name] = strconv.FormatInt(n, 10)
		case v.Time != nil:
			values[name] = stamp(v.Time.Pattern, at.Add(v.Time.Offset.Time()).In(t.stamps[name]))
		}
	}
	return values
}
