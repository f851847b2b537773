package domain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BanKind says what a ban is on.
type BanKind string

// The kinds. "all" is the whole board, the others are something with a name,
// or a context itself.
const (
	BanAll       BanKind = "all"
	BanContext   BanKind = "context"
	BanBlueprint BanKind = "blueprint"
	BanFlow      BanKind = "flow"
	BanType      BanKind = "type"
	BanRoutine   BanKind = "routine"
	BanEffect    BanKind = "effect"
	BanSaga      BanKind = "saga"
)

// BanLevel says how much is banned.
type BanLevel string

// The levels. On work each covers those before it: who may not submit may not
// create jobs of what was submitted, nor pick them. On routines and maintenance services
// occupy covers exec.
//
// Source: TasCreed's TASK_PICK, TASK_CREATE, JOB_SUBMIT, ROUTINE_EXEC and
// ROUTINE_OCCUPY.
const (
	BanPick   BanLevel = "pick"
	BanCreate BanLevel = "create"
	BanSubmit BanLevel = "submit"
	BanExec   BanLevel = "exec"
	BanOccupy BanLevel = "occupy"
)

// covers says what each level bans.
var covers = map[BanLevel][]BanLevel{
	BanPick:   {BanPick},
	BanCreate: {BanPick, BanCreate},
	BanSubmit: {BanPick, BanCreate, BanSubmit},
	BanExec:   {BanExec},
	BanOccupy: {BanExec, BanOccupy},
}

// Covers reports whether a ban of level l also bans what o does.
func (l BanLevel) Covers(o BanLevel) bool { return slices.Contains(covers[l], o) }

// banLevels says which levels a kind can have. A flow is there already: to ban
// its submit would ban nothing.
var banLevels = map[BanKind][]BanLevel{
	BanAll:       {BanPick, BanCreate, BanSubmit},
	BanContext:   {BanPick, BanCreate, BanSubmit},
	BanBlueprint: {BanPick, BanCreate, BanSubmit},
	BanFlow:      {BanPick, BanCreate},
	BanType:      {BanPick, BanCreate, BanSubmit},
	BanRoutine:   {BanExec, BanOccupy},
	BanEffect:    {BanPick, BanCreate, BanSubmit},
	BanSaga:      {BanPick}, // its events wait in their stream
}

// Limits of a ban.
const (
	MaxBanName   = 150 // bytes; it is part of a key
	MaxBanReason = 1000
)

// BanScope names what a ban is on.
type BanScope struct {
	Kind BanKind `json:"kind"`
	// Context is where it holds; 0 is everywhere.
	Context TenantID `json:"context,omitzero"`
	// Name is the blueprint, script type, routine, effect or its target, or
	// saga, or the flow's number.
	Name string `json:"name,omitzero"`
}

// String is the scope as part of keys: "all", "7:context", "7:flow:33",
// "0:type:shell".
func (s BanScope) String() string {
	switch {
	case s.Kind == BanAll:
		return string(BanAll)
	case s.Name == "":
		return strconv.FormatUint(uint64(s.Context), 10) + ":" + string(s.Kind)
	}
	return strconv.FormatUint(uint64(s.Context), 10) + ":" + string(s.Kind) + ":" + s.Name
}

// ParseBanScope reads what String writes.
//
// Errors: [ErrInvalid].
func ParseBanScope(text string) (BanScope, error) {
	if text == string(BanAll) {
		return BanScope{Kind: BanAll}, nil
	}
	tenant, rest, _ := strings.Cut(text, ":")
	kind, name, _ := strings.Cut(rest, ":")
	id, err := strconv.ParseUint(tenant, 10, 32)
	s := BanScope{Kind: BanKind(kind), Context: TenantID(id), Name: name}
	if err != nil || s.Validate() != nil || s.String() != text {
		return BanScope{}, Invalidf("%q is no scope of a ban", text)
	}
	return s, nil
}

// Words are the scope as it is typed after `ramet ban` and `ramet ban lift`.
func (s BanScope) Words() string {
	words := string(s.Kind)
	if s.Name != "" {
		words += " " + s.Name
	}
	switch {
	case s.Kind == BanAll:
		return words
	case s.Context == 0:
		return words + " --everywhere"
	case s.Context != 1: // which is the default
		return words + " --context " + strconv.FormatUint(uint64(s.Context), 10)
	}
	return words
}

// Validate checks the scope.
//
// Errors: [ErrInvalid].
func (s BanScope) Validate() error {
	switch s.Kind {
	case BanAll:
		if s.Context != 0 || s.Name != "" {
			return Invalidf("a ban on all has neither context nor name")
		}
		return nil
	case BanContext:
		if s.Context == 0 || s.Name != "" {
			return Invalidf("a ban on a context needs its number, and no name")
		}
		return nil
	case BanBlueprint, BanFlow, BanSaga:
		if s.Context == 0 {
			return Invalidf("a ban on a %s needs the context it is in", s.Kind)
		}
	case BanType, BanRoutine, BanEffect:
	default:
		return Invalidf("kind of ban %q: want all, context, blueprint, flow, type, routine, effect or saga", s.Kind)
	}
	if s.Name == "" || len(s.Name) > MaxBanName || strings.IndexByte(s.Name, 0) >= 0 {
		return Invalidf("ban on %s %q: want a name of 1 to %d bytes", s.Kind, s.Name, MaxBanName)
	}
	switch s.Kind {
	case BanFlow:
		if id, err := parseID(s.Name); err != nil || id == 0 {
			return Invalidf("ban on flow %q: want its number", s.Name)
		}
	case BanType:
		return ScriptType(s.Name).Validate()
	}
	return nil
}

// Ban holds something up: what runs goes on, what has not begun waits.
type Ban struct {
	BanScope
	Level  BanLevel `json:"level"`
	By     ActorID  `json:"by"`
	AtMs   int64    `json:"at_ms"`
	Reason string   `json:"reason"`
	// UntilMs is when it ends by itself; 0 is never.
	UntilMs int64 `json:"until_ms,omitzero"`
}

// Validate checks what a person gave.
//
// Errors: [ErrInvalid].
func (b Ban) Validate() error {
	if err := b.BanScope.Validate(); err != nil {
		return err
	}
	levels := banLevels[b.Kind]
	if !slices.Contains(levels, b.Level) {
		words := make([]string, len(levels))
		for i, l := range levels {
			words[i] = string(l)
		}
		return Invalidf("level %q of a ban on %s: want %s", b.Level, b.Kind, strings.Join(words, " or "))
	}
	switch {
	case b.Reason == "":
		return Invalidf("a ban needs a reason: it is what those read who wait")
	case len(b.Reason) > MaxBanReason:
		return Invalidf("the reason has %d bytes, the limit is %d", len(b.Reason), MaxBanReason)
	case b.UntilMs < 0 || b.UntilMs > MaxNotBefore:
		return Invalidf("until_ms %d: want Unix milliseconds, up to the year 9999", b.UntilMs)
	}
	return nil
}

// InForce reports whether the ban holds at an instant.
func (b Ban) InForce(now time.Time) bool { return b.UntilMs == 0 || now.UnixMilli() < b.UntilMs }

// Text says it all, for those who meet it.
func (b Ban) Text() string {
	text := fmt.Sprintf("banned (%s) by actor %d since %s: %s; ", b.Level, b.By, time.UnixMilli(b.AtMs).UTC().Format(time.RFC3339), b.Reason)
	if b.UntilMs != 0 {
		text += "it ends at " + time.UnixMilli(b.UntilMs).UTC().Format(time.RFC3339) + ", and "
	}
	return text + "`ramet ban lift " + b.Words() + "` ends it"
}

// Refusal is the error for who does what is banned.
//
// It is an [ErrConflict].
func (b Ban) Refusal() error { return Conflictf("%s is %s", b.what(), b.Text()) }

// what names the banned thing in a sentence.
func (b Ban) what() string {
	switch b.Kind {
	case BanAll:
		return "all work"
	case BanContext:
		return "context " + strconv.FormatUint(uint64(b.Context), 10)
	case BanType:
		return "script type " + b.Name
	}
	return string(b.Kind) + " " + b.Name
}
