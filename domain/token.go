package domain

import (
	"regexp"
	"strconv"
	"strings"
)

// Limits of what a token says.
const (
	MaxScopeContexts = 64
	MaxScopeGroups   = 32
	MaxTokenName     = 64 // bytes
)

// Scope is how far a token goes, within what its actor may. The zero Scope
// narrows nothing.
type Scope struct {
	// Contexts are the only ones that it is for. Empty: all.
	Contexts []TenantID `json:"contexts,omitzero"`
	// ReadOnly lets it change nothing.
	ReadOnly bool `json:"read_only,omitzero"`
	// Groups are the only groups of operations that it is for: the nouns of
	// their names, as job of job.submit. Empty: all.
	Groups []string `json:"groups,omitzero"`
}

// Narrow reports whether a scope takes anything away.
func (s *Scope) Narrow() bool {
	return s != nil && (s.ReadOnly || len(s.Contexts) > 0 || len(s.Groups) > 0)
}

// String says it for people: "contexts 7 and 8, reading only, group job".
func (s *Scope) String() string {
	if !s.Narrow() {
		return "all that its actor may"
	}
	var parts []string
	if len(s.Contexts) > 0 {
		ids := make([]string, len(s.Contexts))
		for i, id := range s.Contexts {
			ids[i] = strconv.FormatUint(uint64(id), 10)
		}
		parts = append(parts, "context "+strings.Join(ids, ", "))
	}
	if s.ReadOnly {
		parts = append(parts, "reading only")
	}
	if len(s.Groups) > 0 {
		parts = append(parts, "group "+strings.Join(s.Groups, ", "))
	}
	return strings.Join(parts, "; ")
}

var groupPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// Validate checks what somebody wrote.
//
// Errors: [ErrInvalid].
func (s *Scope) Validate() error {
	switch {
	case len(s.Contexts) > MaxScopeContexts:
		return Invalidf("a token for %d contexts: want up to %d", len(s.Contexts), MaxScopeContexts)
	case len(s.Groups) > MaxScopeGroups:
		return Invalidf("a token for %d groups of operations: want up to %d", len(s.Groups), MaxScopeGroups)
	}
	for _, id := range s.Contexts {
		if id == 0 {
			return Invalidf("a token for context 0: want 1 or more")
		}
	}
	for _, g := range s.Groups {
		if !groupPattern.MatchString(g) {
			return Invalidf("a token for group %.40q: want the noun of an operation, as job of job.submit", g)
		}
	}
	return nil
}

// Token is what is known of a token that an actor has signed.
type Token struct {
	ID    string  `json:"id"`
	Actor ActorID `json:"actor"`
	// Name says for people what it is for.
	Name string `json:"name,omitzero"`
	Scope
	IssuedAt  UnixTime `json:"issued_at,omitzero"`
	ExpiresAt UnixTime `json:"expires_at,omitzero"`
	// SeenMs is when it was last used at the node that was asked.
	SeenMs int64 `json:"seen_ms,omitzero"`
	// Revoked is true for one that is good nowhere any more.
	Revoked bool `json:"revoked,omitzero"`
}

// ValidateTokenName checks a name.
//
// Errors: [ErrInvalid].
func ValidateTokenName(name string) error {
	if len(name) > MaxTokenName || PlainText(name, MaxTokenName) != name {
		return Invalidf("a token's name %.80q: want up to %d bytes without control characters", name, MaxTokenName)
	}
	return nil
}

var tokenIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidateTokenID checks the id of a token.
//
// Errors: [ErrInvalid].
func ValidateTokenID(id string) error {
	if !tokenIDPattern.MatchString(id) {
		return Invalidf("token %.80q: want its id, as `ramet token list` shows it", id)
	}
	return nil
}
