package layout

import (
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Bans stand in space 0, whatever context they are on: so one watch tells a
// node all of them.
const BanPrefix = "ramet:ban:"

// Ban is the record of a ban, in space 0.
func Ban(s domain.BanScope) string { return BanPrefix + s.String() }

// BanAlarm is the alarm, in space 0, by which what a ban means is seen to:
// when it is set, lifted or has run out.
func BanAlarm(s domain.BanScope) string { return banAlarm + s.String() }

// ParseBanAlarm reads the name of such an alarm.
func ParseBanAlarm(name string) (domain.BanScope, bool) { return cutScope(name, banAlarm) }

// Parked is the list of the jobs that were taken from their queues because of
// a ban, in the context's space: the last parked is rightmost.
func Parked(scope string) string { return "ramet:banned:" + scope }

// Parkings is the record that counts, in ParkingsCount, all that were ever put
// on that list.
func Parkings(scope string) string { return "ramet:bannings:" + scope }

// ParkingsCount is that record's field.
const ParkingsCount = "count"

// ParkedAlarm is the alarm, in the context's space, by which parked jobs are
// looked at.
func ParkedAlarm(scope string) string { return parkedAlarm + scope }

// ParseParkedAlarm reads the name of such an alarm.
func ParseParkedAlarm(name string) (domain.BanScope, bool) { return cutScope(name, parkedAlarm) }

const (
	banAlarm    = "ban:"
	parkedAlarm = "parked:"
)

// Fields of [Limits] that remember what a ban has set to nothing: a cap as it
// was, by the name of its field, and how often bans have changed the record.
const (
	BannedCapPrefix = "banned:"
	BannedTurn      = "banned_turn"
)

// BanAtMs is the field of a ban's record that says when it was set.
const BanAtMs = "at_ms"

var banTable = newTable(
	text("kind", func(b *domain.Ban) *domain.BanKind { return &b.Kind }),
	number32("context", func(b *domain.Ban) *domain.TenantID { return &b.Context }).ours(),
	text("name", func(b *domain.Ban) *string { return &b.Name }).ours(),
	text("level", func(b *domain.Ban) *domain.BanLevel { return &b.Level }),
	number32("by", func(b *domain.Ban) *domain.ActorID { return &b.By }),
	number(BanAtMs, func(b *domain.Ban) *int64 { return &b.AtMs }),
	text("reason", func(b *domain.Ban) *string { return &b.Reason }),
	number("until_ms", func(b *domain.Ban) *int64 { return &b.UntilMs }).ours(),
)

// EncodeBan writes a ban's record.
func EncodeBan(b domain.Ban) []board.Field { return banTable.encode(&b) }

// DecodeBan reads a ban's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeBan(key string, rec board.Record) (b domain.Ban, err error) {
	err = banTable.decode(decoder{key: keyText(key)}, &b, rec)
	return b, err
}

func cutScope(name, prefix string) (domain.BanScope, bool) {
	text, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return domain.BanScope{}, false
	}
	s, err := domain.ParseBanScope(text)
	return s, err == nil
}
