package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ownClock finds what judges others, or sets an alarm, by the clock of this machine.
var ownClock = regexp.MustCompile(`\.(Seen|Alive)\(time\.Now\(\)|(SetAlarm|AlarmAt)\(.*time\.Now\(\)`)

// leaseHeld finds what holds the end of a lease against a clock.
var leaseHeld = regexp.MustCompile(`\bUntil\.(Before|After|Compare)\(`)

// TestOthersAreJudgedByTheBoardsTime wants who lives, and what comes when, to be told by the
// board's clock: nodes' own need not agree.
func TestOthersAreJudgedByTheBoardsTime(t *testing.T) {
	for _, p := range packages(t) {
		dir := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(dir, "board") || strings.HasSuffix(dir, "test") {
			continue // the drivers tell it
		}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join("..", "..", dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if leaseHeld.MatchString(line) {
					t.Errorf("%s holds a lease against a clock, which board.Lease.Over does: %s", filepath.ToSlash(filepath.Join(dir, name)), strings.TrimSpace(line))
				}
				if ownClock.MatchString(line) {
					t.Errorf("%s goes by this machine's clock: %s", filepath.ToSlash(filepath.Join(dir, name)), strings.TrimSpace(line))
				}
			}
		}
	}
}
