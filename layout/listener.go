package layout

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// ListenerPrefix begins the keys of listeners, in their context's space.
const ListenerPrefix = "ramet:listener:"

// Listeners is the set, in space 0, of all listeners: "<context>:<name>:<revision>".
const Listeners = "ramet:listeners"

// Listener is the key of a listener's record.
func Listener(name string) string { return ListenerPrefix + name }

// ListedListener is a listener as member of [Listeners].
func ListedListener(tenant domain.TenantID, name string, revision int64) string {
	return strconv.FormatUint(uint64(tenant), 10) + ":" + name + ":" + strconv.FormatInt(revision, 10)
}

// ParseListedListener reads such a member.
func ParseListedListener(member string) (tenant domain.TenantID, name string, ok bool) {
	parts := strings.Split(member, ":")
	if len(parts) != 3 || domain.ValidateName("listener", parts[1]) != nil {
		return 0, "", false
	}
	n, err := strconv.ParseUint(parts[0], 10, 32)
	return domain.TenantID(n), parts[1], err == nil
}

// Fields of a listener's record that are written by themselves.
const (
	ListenerRevision  = "revision"
	ListenerStarted   = "started"
	ListenerRefused   = "refused"
	ListenerLastMs    = "last_ms"
	ListenerLastFlow  = "last_flow"
	ListenerLastEvent = "last_event"
	ListenerRefusedMs = "refused_ms"
	ListenerLastError = "last_error"
	ListenerHeldMs    = "held_ms"
	ListenerHeldWhy   = "held_why"
)

const listenerDefinition = "definition" // JSON

var listenerTable = newTable(
	text("name", func(l *domain.Listener) *string { return &l.Name }),
	number32("caller_id", func(l *domain.Listener) *domain.ActorID { return &l.CallerID }),
	number32("created_at", func(l *domain.Listener) *domain.UnixTime { return &l.CreatedAt }),
	number32("updated_at", func(l *domain.Listener) *domain.UnixTime { return &l.UpdatedAt }),
	// It is read before the others, as it sets the whole.
	field[domain.Listener]{name: listenerDefinition,
		write: func(l *domain.Listener) (string, bool) { return mustJSON(l.Defined()), false }}.secret(),
	number(ListenerRevision, func(l *domain.Listener) *int64 { return &l.State.Revision }),
	number("made_ms", func(l *domain.Listener) *int64 { return &l.State.MadeMs }),
	field[domain.Listener]{name: "after",
		write: func(l *domain.Listener) (string, bool) {
			return strconv.FormatUint(l.State.After, 10), l.State.After == 0
		},
		read: func(d *decoder, l *domain.Listener, f board.Field) { l.State.After = d.uint(f, 64) }},
	number(ListenerStarted, func(l *domain.Listener) *int64 { return &l.State.Started }).readOnly(),
	number(ListenerRefused, func(l *domain.Listener) *int64 { return &l.State.Refused }).readOnly(),
	number(ListenerLastMs, func(l *domain.Listener) *int64 { return &l.State.LastMs }).readOnly(),
	number32(ListenerLastFlow, func(l *domain.Listener) *domain.FlowID { return &l.State.LastFlow }).readOnly(),
	text(ListenerLastEvent, func(l *domain.Listener) *string { return &l.State.LastEvent }).readOnly(),
	number(ListenerRefusedMs, func(l *domain.Listener) *int64 { return &l.State.RefusedMs }).readOnly(),
	text(ListenerLastError, func(l *domain.Listener) *string { return &l.State.LastError }).secret().readOnly(),
	number(ListenerHeldMs, func(l *domain.Listener) *int64 { return &l.State.HeldMs }).readOnly(),
	text(ListenerHeldWhy, func(l *domain.Listener) *string { return &l.State.HeldWhy }).readOnly(),
)

// EncodeListener writes a listener's definition. What has become of it stands in fields of
// their own.
func EncodeListener(l *domain.Listener) []board.Field { return listenerTable.encode(l) }

// DecodeListener reads a listener's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeListener(key string, rec board.Record) (*domain.Listener, error) {
	l := &domain.Listener{}
	if text, ok := rec.Lookup(listenerDefinition); ok {
		if err := json.Unmarshal([]byte(text), l); err != nil {
			return nil, domain.Invalidf("%s: the definition cannot be read: %v", key, err)
		}
	}
	err := listenerTable.decode(decoder{key: keyText(key)}, l, rec)
	return l, err
}

// ListenerGuard guards that a listener is as it was read, but for what became of events.
func ListenerGuard(b *board.Batch, l *domain.Listener) *board.Batch {
	return b.Equal(Listener(l.Name), ListenerRevision, strconv.FormatInt(l.State.Revision, 10))
}
