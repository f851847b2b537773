package api

import "github.com/ramet-run/ramet/domain"

// The operations on bans.
var (
	BanSet = op[domain.Ban](Operation{
		Name: "ban.set", Method: "POST", Path: "/v1/contexts/{context}/bans", Right: domain.VerbBan, ByHand: true, Holds: "ban.show",
		Summary: "Hold up a context, or a blueprint, flow, script type, routine, saga, effect or its target in it: what runs goes on, what has not begun waits.",
	}, BanParams{In: 7, BanInput: BanInput{BanScope: domain.BanScope{Kind: domain.BanBlueprint, Name: "nightly"}, Level: domain.BanPick,
		Reason: "the target is down"}})
	BanShow = op[domain.Ban](Operation{
		Name: "ban.show", Method: "GET", Path: "/v1/contexts/{context}/bans/{kind}", Right: domain.VerbRead,
		Summary: "Show the ban that holds on one thing of a context, or on the context.",
	}, ShowBanParams{In: 7, Kind: domain.BanBlueprint, Name: "nightly"})
	BanList = op[BanPage](Operation{
		Name: "ban.list", Method: "GET", Path: "/v1/contexts/{context}/bans", Right: domain.VerbRead, Much: true,
		Summary: "List the bans that hold in a context.",
	}, ListBansParams{Context: 7})
	BanLift = op[domain.Ban](Operation{
		Name: "ban.lift", Method: "POST", Path: "/v1/contexts/{context}/bans/lift", Right: domain.VerbBan, ByHand: true, Holds: "ban.show",
		Summary: "End a ban: what it held up goes on.",
	}, LiftParams{In: 7, BanScope: domain.BanScope{Kind: domain.BanBlueprint, Name: "nightly"}})
	BanSetAll = op[domain.Ban](Operation{
		Name: "ban.set_all", Method: "POST", Path: "/v1/bans", Right: domain.VerbAdministrate, ByHand: true, Holds: "ban.show_all",
		Summary: "Hold up everything, something in all contexts, or something in any context.",
	}, BanInput{BanScope: domain.BanScope{Kind: domain.BanAll}, Level: domain.BanPick, Reason: "maintenance"})
	BanShowAll = op[domain.Ban](Operation{
		Name: "ban.show_all", Method: "GET", Path: "/v1/bans/{kind}", Right: domain.VerbInspect,
		Summary: "Show a ban of any context, or on everything.",
	}, ShowAnyBanParams{Kind: domain.BanType, Name: "shell"})
	BanListAll = op[BanPage](Operation{
		Name: "ban.list_all", Method: "GET", Path: "/v1/bans", Right: domain.VerbInspect, Much: true,
		Summary: "List the bans of all contexts.",
	}, ListAllBansParams{})
	BanLiftAll = op[domain.Ban](Operation{
		Name: "ban.lift_all", Method: "POST", Path: "/v1/bans/lift", Right: domain.VerbAdministrate, ByHand: true, Holds: "ban.show_all",
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

// ShowBanParams are the parameters of ban.show.
type ShowBanParams struct {
	In   domain.TenantID `json:"-" path:"context"`
	Kind domain.BanKind  `json:"-" path:"kind"`
	// Name is that of what is banned; a ban on a context has none.
	Name string `json:"-" query:"name" thing:"true"`
}

// ShowAnyBanParams are the parameters of ban.show_all.
type ShowAnyBanParams struct {
	Kind domain.BanKind `json:"-" path:"kind"`
	// Context is where it holds; 0 is everywhere.
	Context domain.TenantID `json:"-" query:"context" thing:"true"`
	// Name is that of what is banned; bans on all and on a context have none.
	Name string `json:"-" query:"name" thing:"true"`
}

// ListBansParams are the parameters of ban.list.
type ListBansParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// ListAllBansParams are the parameters of ban.list_all: none.
type ListAllBansParams struct{}
