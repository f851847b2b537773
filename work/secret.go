package work

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/script"
)

// This file gives jobs the secrets that they name, and takes them out of what jobs leave.

// Secrets are those of contexts: a secret.Vault.
type Secrets interface {
	Read(ctx context.Context, tenant domain.TenantID, names []string) (map[string]string, error)
}

// readSecrets reads the secrets that the job names. missing is why one cannot be had: that is
// the end of the attempt, for nobody can say whether the next finds it.
//
// Errors: those of the board.
func (x *run) readSecrets() (missing, err error) {
	of, _, err := x.r.e.flowOf(x.Ctx, x.Claimed.Space, x.job)
	if err != nil {
		return nil, err
	}
	if x.job.Message != "" || of.brought {
		// No door lets such a one in: somebody has written its record, or its flow's, past them.
		return domain.Forbiddenf("a job that came in a message has no secrets of the context that it came to"), nil
	}
	if x.r.e.cfg.Secrets == nil {
		return domain.NotFoundf("this node has no secrets"), nil
	}
	if err := domain.ValidateSecrets(x.job.Secrets, nil); err != nil {
		return err, nil
	}
	var names []string
	for _, name := range x.job.Secrets {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	values, err := x.r.e.cfg.Secrets.Read(x.Ctx, domain.TenantID(x.Claimed.Space), names)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrConflict) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	x.secrets = make(map[string]string, len(x.job.Secrets))
	all := make([]string, 0, len(values))
	for variable, name := range x.job.Secrets {
		x.secrets[variable] = values[name]
		all = append(all, values[name])
	}
	x.hide = hide.Of(all...)
	return nil, nil
}

// exitNoSecret is the exit code of an attempt that lacked a secret: one of those by which
// flows tell an error from a failure.
const exitNoSecret = 125

// without is the outcome of an attempt that lacked a secret.
func without(missing error) script.Outcome {
	return script.Outcome{Verdict: script.Errored, ExitCode: exitNoSecret, Error: missing.Error(),
		Result: map[string]string{script.KeyExitCode: strconv.Itoa(exitNoSecret)}}
}

// hideOutcome takes the secrets out of what a script has left.
func (x *run) hideOutcome(out script.Outcome) script.Outcome {
	if x.hide == nil {
		return out
	}
	out.Error, out.Value, out.Result = x.hide.Text(out.Error), x.hide.Text(out.Value), x.hide.Map(out.Result)
	return out
}

// hideError takes them out of what went wrong around the script, and leaves the error's kind.
func (x *run) hideError(err error) error {
	if text := x.hide.Text(err.Error()); text != err.Error() {
		return &hiddenError{text, err}
	}
	return err
}

type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }
