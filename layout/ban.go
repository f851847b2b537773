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

// EncodeBan writes a ban's record.
func EncodeBan(b domain.Ban) []board.Field {
	var e encoder
	e.str("kind", string(b.Kind))
	e.numOpt("context", int64(b.Context))
	e.strOpt("name", b.Name)
	e.str("level", string(b.Level))
	e.num("by", int64(b.By))
	e.num(BanAtMs, b.AtMs)
	e.str("reason", b.Reason)
	e.numOpt("until_ms", b.UntilMs)
	return e
}

// DecodeBan reads a ban's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeBan(key string, rec board.Record) (domain.Ban, error) {
	var b domain.Ban
	d := decoder{key: keyText(key)}
	for _, f := range rec {
		switch f.Name {
		case "kind":
			b.Kind = domain.BanKind(f.Value)
		case "context":
			b.Context = domain.TenantID(d.u32(f))
		case "name":
			b.Name = f.Value
		case "level":
			b.Level = domain.BanLevel(f.Value)
		case "by":
			b.By = domain.ActorID(d.u32(f))
		case BanAtMs:
			b.AtMs = d.int(f)
		case "reason":
			b.Reason = f.Value
		case "until_ms":
			b.UntilMs = d.int(f)
		}
	}
	return b, d.err
}

func cutScope(name, prefix string) (domain.BanScope, bool) {
	text, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return domain.BanScope{}, false
	}
	s, err := domain.ParseBanScope(text)
	return s, err == nil
}
