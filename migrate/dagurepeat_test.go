package migrate_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/migrate"
)

// TestRepeatPoliciesOfDaguAreWhatTheyAreThere: their scripts are run as the rounds of a step are.
func TestRepeatPoliciesOfDaguAreWhatTheyAreThere(t *testing.T) {
	const later, soon, state = "test $RAMET_ROUND -ge 3", "test $RAMET_ROUND -lt 3", "echo s$RAMET_ROUND"
	for _, tc := range []struct {
		command, policy string
		rounds, code    int
	}{
		{later, "{repeat: true, exitCode: [1]}", 3, 0},
		{later, "{exitCode: [1]}", 3, 0},
		{later, "{repeat: false, exitCode: [1, 2]}", 3, 0},
		{later, "{repeat: while, exitCode: [1]}", 3, 0},
		{later, "{repeat: until, exitCode: [0]}", 3, 0},
		{"exit 7", "{repeat: until, exitCode: [0], limit: 2}", 2, 7},
		{"true", "{condition: test $RAMET_ROUND -lt 3}", 3, 0},
		{"true", "{repeat: true, condition: test $RAMET_ROUND -lt 3}", 3, 0},
		{"true", "{repeat: until, condition: test $RAMET_ROUND -ge 3}", 3, 0},
		{"true", "{condition: $RAMET_ROUND, expected: '3'}", 3, 0},
		{"true", "{repeat: while, condition: $RAMET_ROUND, expected: 're:[12]'}", 3, 0},
		{"true", "{condition: $RAMET_ROUND, expected: '3', exitCode: [9]}", 3, 0},
		{soon, "{repeat: true}", 3, 1},
		{"true", "{repeat: true, limit: 4}", 4, 0},
		{"true", "{repeat: false}", 1, 0},
		{state, "{repeat: until, condition: $STATE, expected: s3}", 3, 0},
		{state, "{condition: '${STATE}', expected: s3}", 3, 0},
		{state + "; exit 4", "{repeat: until, condition: $STATE, expected: s3}", 3, 4},
		{state + "; false", "{repeat: while, condition: test $STATE != s3}", 3, 1},
	} {
		t.Run(tc.command+" "+tc.policy, func(t *testing.T) {
			s, _ := repeated(t, tc.command, tc.policy)
			rounds, code := play(t, s)
			if rounds != tc.rounds || code != tc.code {
				t.Errorf("it ends in round %d with code %d, want %d and %d\n%s", rounds, code, tc.rounds, tc.code, s.Script)
			}
		})
	}
}

// TestWhatIsNotUnderstoodOfARepeatPolicyStops the step, and says so.
func TestWhatIsNotUnderstoodOfARepeatPolicyStops(t *testing.T) {
	for policy, want := range map[string]string{
		"{repeat: sometimes, condition: 'true'}": "repeat: sometimes is not understood",
		"{exitCode: [a]}":                        `the exit code "a" is not understood`,
		"{repeat: until}":                        "repeat: until without a condition or exit codes is not understood",
	} {
		s, notes := repeated(t, "true", policy)
		if rounds, code := play(t, s); rounds != 1 || code == 0 || s.Repeat != nil || !strings.Contains(notes, want) {
			t.Errorf("%s: %d rounds, code %d, %q", policy, rounds, code, notes)
		}
	}
	// Without a limit nothing is enough after the last round: the step has failed.
	s, notes := repeated(t, "true", "{repeat: true}")
	if strings.Contains(s.Script, "-ge") || !strings.Contains(notes, "after these the step fails") {
		t.Errorf("%s\n%s", s.Script, notes)
	}
}

func repeated(t *testing.T, command, policy string) (domain.Step, string) {
	t.Helper()
	in, err := migrate.Import("dagu", "f", fmt.Appendf(nil, "name: n\nsteps:\n- name: a\n  command: %q\n  output: STATE\n  repeatPolicy: %s\n", command, policy))
	if err != nil {
		t.Fatal(err)
	}
	return in.Blueprints[0].Steps[0], fmt.Sprint(in.Notes)
}

// play runs the rounds of a step one after the other.
func play(t *testing.T, s domain.Step) (rounds, code int) {
	t.Helper()
	state := ""
	for rounds = 1; ; rounds++ {
		result := filepath.Join(t.TempDir(), "result")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", s.Script)
		cmd.Env = append(os.Environ(), "RAMET_RESULT="+result, fmt.Sprint("RAMET_ROUND=", rounds), "RAMET_PARAM_STATE="+state)
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return rounds, exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		left, _ := os.ReadFile(result)
		for line := range strings.Lines(string(left)) {
			if value, ok := strings.CutPrefix(line, "params.STATE="); ok {
				state = strings.TrimSpace(value)
			}
		}
		if s.Repeat == nil || strings.Contains(string(left), "enough=yes\n") || rounds >= 10 {
			return rounds, 0
		}
	}
}
