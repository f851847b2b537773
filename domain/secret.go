package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// MaxSecrets bounds the secrets of a job, MaxSecretsOf those of a context on the board.
	MaxSecrets   = 64
	MaxSecretsOf = 1000
	// MaxSecretBytes bounds the value of a secret, MinSecretBytes is what it has at least: a
	// shorter one could not be told from other texts, and so not be hidden.
	MaxSecretBytes = 64 << 10
	MinSecretBytes = 4
)

// Secret is a secret of a context, without its value, which nobody reads back.
type Secret struct {
	Name string `json:"name"`
	// Source is where it comes from: sealed (on the board), environment or file (of the
	// node that answers).
	Source string `json:"source"`
	// SetMs and By say when and by whom one on the board was set.
	SetMs int64   `json:"set_ms,omitzero"`
	By    ActorID `json:"by,omitzero"`
	// Locked says why the node that answers cannot open one on the board: "" where it can.
	Locked string `json:"locked,omitzero"`
}

// The sources of secrets that can be listed.
const (
	SecretSealed      = "sealed"
	SecretEnvironment = "environment"
	SecretFile        = "file"
)

// SecretText is the secret that a file has, or that a program prints: of a single line,
// without the line end that editors and programs put behind it.
func SecretText(text string) string {
	line := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if strings.Contains(line, "\n") {
		return text
	}
	return line
}

// ValidateSecret checks the value of a secret. Errors do not have it.
//
// Errors: [ErrInvalid].
func ValidateSecret(value string) error {
	switch n := len(value); {
	case n < MinSecretBytes:
		return Invalidf("it has %d bytes, want at least %d: a shorter one could not be hidden in logs", n, MinSecretBytes)
	case n > MaxSecretBytes:
		return Invalidf("it has %d bytes, the limit is %d", n, MaxSecretBytes)
	case strings.IndexByte(value, 0) >= 0:
		return Invalidf("it has a NUL byte, which no variable can have")
	}
	return nil
}

// ValidateSecrets checks which secrets a job names: variable -> name of the secret.
//
// Errors: [ErrInvalid].
func ValidateSecrets(secrets, env map[string]string) error {
	if len(secrets) > MaxSecrets {
		return Invalidf("%d secrets, the limit is %d", len(secrets), MaxSecrets)
	}
	for _, variable := range slices.Sorted(maps.Keys(secrets)) {
		if fault := SecretFault(variable, secrets[variable], env); fault != "" {
			return Invalidf("secrets: %s", fault)
		}
	}
	return nil
}

func SecretFault(variable, name string, env map[string]string) string {
	if fault := EnvFault(variable, ""); fault != "" {
		return fault
	}
	if err := ValidateName("secret", name); err != nil {
		return err.Error()
	}
	if _, twice := env[variable]; twice {
		return fmt.Sprintf("%s is an environment variable, too: want it in one of the two", variable)
	}
	return ""
}

// noSecretsElsewhere refuses a job that is to run elsewhere: secrets stay in their context.
func (j *Job) noSecretsElsewhere() error {
	if len(j.Secrets) > 0 && j.At != "" {
		return Invalidf("secrets: the job runs at %s, where this context's secrets do not go; have a job there that names its own", j.At)
	}
	return nil
}
