package console

// Inside the package: the drawing is looked at as it is made.

import "testing"

func TestAnHourIsDrawn(t *testing.T) {
	list := []minute{{number: 100, well: 9, bad: 1}, {number: 101}, {number: 159, well: 1000, bad: 1000}}
	s := sparkOf(list, 159, false)
	if s.Label != "2,010 ended in the last hour, 1,001 of them in error; at most 2,000 in a minute" || len(s.Bars) != 2 {
		t.Errorf("got %+v", s)
	}
	first, last := s.Bars[0], s.Bars[1]
	if first.X != 0 || first.Height != "1.0" || first.BadHeight != "1.0" || last.X != s.Width()-barWidth || last.BadHeight != "14.0" || last.Y != "0.0" ||
		last.Text != "02:39 UTC: 2,000 ended, 1,000 in error" {
		t.Errorf("got %+v, %+v", first, last)
	}
	if s = sparkOf(list, 159, true); s.Bars[1].Height != "" || s.Bars[1].BadY != "0.0" {
		t.Errorf("got %+v", s.Bars[1])
	}
	for n, want := range map[int]string{0: "none in the minute of 00:09 UTC", 59: "59 in the minute of 00:09 UTC", 90: "1.5 a second in the minute of 00:09 UTC",
		6030: "101 a second in the minute of 00:09 UTC"} {
		if got := rateText([]minute{{number: 8, well: 1}, {number: 9, well: n - n/10, bad: n / 10}}, 9); got != want {
			t.Errorf("%d ended: got %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{7: "", 8: "; 1,234 in this one so far", 9: ""} {
		if got := soFarText([]minute{{number: 7}, {number: 8, well: 1234}}, n); got != want {
			t.Errorf("minute %d: got %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
