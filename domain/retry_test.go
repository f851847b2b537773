package domain_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestWhichRetriesAreRefused(t *testing.T) {
	two := 2.0
	for _, tt := range []struct {
		retry   domain.Retry
		retries int
		want    string
	}{
		{retry: domain.Retry{Max: 3, On: []domain.RetryOn{"errored", "failed"}, FinalExitCodes: []int{64, 255}}, retries: 3},
		{retry: domain.Retry{Max: 256}, want: "retry.max: 256: want 0 to 255"},
		{retry: domain.Retry{Max: 3}, retries: 2, want: "retry.max: 3, and retries is 2: they are two spellings of one thing; give one"},
		{retry: domain.Retry{On: []domain.RetryOn{"error"}}, want: `retry.on[0]: "error": want errored or failed; did you mean "errored"?`},
		{retry: domain.Retry{On: []domain.RetryOn{"failed", "failed"}}, want: `retry.on[1]: "failed" stands there twice`},
		{retry: domain.Retry{Delay: 86400, Factor: 1.5, MaxDelay: 86400, Jitter: new(float64), ExitCodes: []int{75}}},
		{retry: domain.Retry{Delay: 86401}, want: "retry.delay: 86401 s, the limit is 86400 (a day)"},
		{retry: domain.Retry{Factor: 0.5}, want: "retry.factor: 0.5: want 1 to 100; 1 is a pause that stays as it is"},
		{retry: domain.Retry{Factor: math.NaN()}, want: "retry.factor: NaN: want 1 to 100; 1 is a pause that stays as it is"},
		{retry: domain.Retry{Delay: 60, MaxDelay: 30}, want: "retry.max_delay: 30 s is less than the delay of 60 s"},
		{retry: domain.Retry{Jitter: &two}, want: "retry.jitter: 2: want 0 to 1, the part of a pause that chance may take off it"},
		{retry: domain.Retry{ExitCodes: []int{256}}, want: "retry.exit_codes[0]: 256: want an exit code from 1 to 255"},
		{retry: domain.Retry{ExitCodes: []int{7}, FinalExitCodes: []int{7}}, want: "retry.exit_codes[0]: 7 is one of final_exit_codes too: want one of them"},
		{retry: domain.Retry{FinalExitCodes: []int{0}}, want: "retry.final_exit_codes[0]: 0: want an exit code from 1 to 255"},
		{retry: domain.Retry{FinalExitCodes: []int{7, 7}}, want: "retry.final_exit_codes[1]: 7 stands there twice"},
	} {
		err := tt.retry.Validate(tt.retries)
		if tt.want == "" && err == nil {
			continue
		}
		if !errors.Is(err, domain.ErrInvalid) || err.Error() != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.retry, err, tt.want)
		}
	}
}
