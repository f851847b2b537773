package domain_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestWhichRetriesAreRefused(t *testing.T) {
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
