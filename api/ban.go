package api

import "github.com/ramet-run/ramet/domain"

// The operations on bans.
var (
	BanSet = op[domain.Ban](Operation{
		Name: "ban.set", Method: "POST", Path: "/v1/contexts/{context}/bans", Right: domain.VerbBan, ByHand: true,
		Summary: "Hold up a context, or a blueprint, flow, script type, routine, saga, effect or its target in it: what runs goes on, what has not begun waits.",
	}, BanParams{In: 7, BanInput: BanInput{BanScope: domain.BanScope{Kind: domain.BanBlueprint, Name: "nightly"}, Level: domain.BanPick,
		Reason: "the target is down"}})
	BanList = op[BanPage](Operation{
		Name: "ban.list", Method: "GET", Path: "/v1/contexts/{context}/bans", Right: domain.VerbRead,
		Summary: "List the bans that hold in a context.",
	}, ListBansParams{Context: 7})
	BanLift = op[domain.Ban](Operation{
		Name: "ban.lift", Method: "POST", Path: "/v1/contexts/{context}/bans/lift", Right: domain.VerbBan, ByHand: true,
		Summary: "End a ban: what it held up goes on.",
	}, LiftParams{In: 7, BanScope: domain.BanScope{Kind: domain.BanBlueprint, Name: "nightly"}})
	BanSetAll = op[domain.Ban](Operation{
		Name: "ban.set_all", Method: "POST", Path: "/v1/bans", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Hold up everything, something in all contexts, or something in any context.",
	}, BanInput{BanScope: domain.BanScope{Kind: domain.BanAll}, Level: domain.BanPick, Reason: "maintenance"})
	BanListAll = op[BanPage](Operation{
		Name: "ban.list_all", Method: "GET", Path: "/v1/bans", Right: domain.VerbInspect,
		Summary: "List the bans of all contexts.",
	}, ListAllBansParams{})
	BanLiftAll = op[domain.Ban](Operation{
		Name: "ban.lift_all", Method: "POST", Path: "/v1/bans/lift", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "End a ban of any context.",
		Errors:  []error{domain.ErrNotFound},
	}, domain.BanScope{Kind: domain.BanAll})
)

// BanInput asks for a ban.
type BanInput struct {
	domain.BanScope
	// Level is pick, create or submit; exec or occupy for a routine.
	Level  domain.BanLevel `json:"level"`
	Reason string          `json:"reason"`
	// UntilMs is when it ends by itself, in Unix milliseconds; 0 is never.
	UntilMs int64 `json:"until_ms,omitzero"`
}

func (p *BanInput) AuditDetail() string { return string(p.Level) + ": " + p.Reason }

// BanPage lists bans.
type BanPage struct {
	Bans []domain.Ban `json:"bans"`
}

// BanParams are the parameters of ban.set.
type BanParams struct {
	In domain.TenantID `json:"-" path:"context"`
	BanInput
}

// LiftParams are the parameters of ban.lift.
type LiftParams struct {
	In domain.TenantID `json:"-" path:"context"`
	domain.BanScope
}

// ListBansParams are the parameters of ban.list.
type ListBansParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// ListAllBansParams are the parameters of ban.list_all: none.
type ListAllBansParams struct{}
