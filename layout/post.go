package layout

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// MessagePrefix begins the keys of messages.
const MessagePrefix = "message:"

// Fields by which a received message is followed.
const (
	MessageOpen      = "open"       // how many of its jobs, or flows, have not ended; one more while it is taken in
	MessageTaken     = "taken"      // "1": it has been taken in
	MessageMade      = "made"       // JSON: the jobs made of it, see Made
	MessageToldBytes = "told_bytes" // how many bytes of them it has
	MessageQuiet     = "quiet"      // made of a job: its result need not go into an inbox
	MessageTold      = "told"       // how many log lines a message's sender has
	MessageFor       = "for"        // whose inbox it is in
	// MessageEnding says that a message has ended, and its jobs here not all yet.
	MessageEnding = "ending"
)

// Made is a job that was made of one in a message.
type Made struct {
	Theirs domain.JobID  `json:"theirs"`
	Ours   domain.JobID  `json:"ours"`
	Flow   domain.FlowID `json:"flow,omitzero"`
	Error  string        `json:"error,omitzero"` // why it was not made
}

// MadeField writes what was made of a message.
func MadeField(made []Made) board.Field {
	return board.Field{Name: MessageMade, Value: encodeList(made)}
}

// MadeOf reads it back; ok is false where nothing was decided yet.
func MadeOf(r board.Record) (made []Made, ok bool) {
	text, ok := r.Lookup(MessageMade)
	return made, ok && json.Unmarshal([]byte(text), &made) == nil
}

// Seen is the mark of a message that has been received: by its digest.
func Seen(digest string) string { return "ramet:seen:" + digest }

// Fields of that record, one of the two: the key it was stored under, or why it
// was refused, for good.
const (
	SeenMessage = "message"
	SeenRefused = "refused"
)

// Inbox is the list of messages for an actor in a context, newest left.
func Inbox(a domain.ActorID) string { return "ramet:inbox:" + strconv.FormatUint(uint64(a), 10) }

// MessageLog is the list of log lines of a message's jobs, at its sender.
func MessageLog(k domain.MessageKey) string { return "ramet:logs:" + k.String() }

// Alarms of messages.
const (
	AlarmPush  AlarmKind = "push" // hand it to a bus again
	AlarmLate  AlarmKind = "late" // the time of its stage has run out
	AlarmNotes AlarmKind = "note" // look what its jobs have said
)

// MessageAlarm is an alarm's name: "<kind>:message:<caller>:<id>".
func MessageAlarm(kind AlarmKind, k domain.MessageKey) string { return string(kind) + ":" + k.String() }

// ParseMessageAlarm takes an alarm's name apart; ok is false for alarms that
// are not about a message.
func ParseMessageAlarm(name string) (kind AlarmKind, key domain.MessageKey, ok bool) {
	k, rest, found := strings.Cut(name, ":")
	if !found || !strings.HasPrefix(rest, MessagePrefix) {
		return "", domain.MessageKey{}, false
	}
	key, err := domain.ParseMessageKey(rest)
	return AlarmKind(k), key, err == nil
}

// PeerPrefix begins the keys of peers, in space 0.
const PeerPrefix = "ramet:peer:"

// Peer is a peer's key, in space 0.
func Peer(name string) string { return PeerPrefix + name }

// PeerCard is that record's field: the peer as JSON.
const PeerCard = "card"

// EncodePeer writes a peer's record.
func EncodePeer(p domain.Peer) board.Field {
	return board.Field{Name: PeerCard, Value: mustJSON(p)}
}

// DecodePeer reads a peer's record.
//
// Errors: [domain.ErrInvalid].
func DecodePeer(key string, r board.Record) (domain.Peer, error) {
	var p domain.Peer
	d := decoder{key: keyText(key)}
	d.json(board.Field{Name: PeerCard, Value: r.Get(PeerCard)}, &p, "a JSON object of a peer")
	p.Name = strings.TrimPrefix(key, PeerPrefix)
	return p, d.err
}

// LinkPrefix begins the keys, in space 0, under which nodes of this board say by
// which keys they log in to NATS servers.
const LinkPrefix = "ramet:link:"

// Link is that of the node with a public key.
func Link(node string) string { return LinkPrefix + node }

// Fields of that record: link keys of the node, 64 hex digits each.
const (
	LinkBus    = "bus"
	LinkStream = "stream"
)

// Fields by which a node says on its record who it is to other sites.
const (
	NodePubkey    = "pubkey"
	NodeAddresses = "addresses" // JSON list
)

// NodeOf reads from a node's record what other sites may know; ok is false
// where it does not say.
func NodeOf(key string, r board.Record) (n domain.PeerNode, ok bool) {
	n = domain.PeerNode{Name: strings.TrimPrefix(key, NodePrefix), Pubkey: r.Get(NodePubkey)}
	text := r.Get(NodeAddresses)
	if n.Pubkey == "" || text != "" && json.Unmarshal([]byte(text), &n.Addresses) != nil {
		return n, false
	}
	return n, true
}

// NodeFields write it.
func NodeFields(pubkey string, addresses []domain.Address) []board.Field {
	return []board.Field{{Name: NodePubkey, Value: pubkey}, {Name: NodeAddresses, Value: encodeList(addresses)}}
}

// SentFields are those of a job that has left in a message.
func SentFields(at string, by domain.MessageKey) []board.Field {
	return []board.Field{{Name: JobAt, Value: at}, {Name: JobMessage, Value: by.String()}}
}

// NotesPrefix begins the keys of marks by which the log of a received
// message's jobs is sent back.
const NotesPrefix = "ramet:notes:"

// Notes is the mark of a received message: an item of PostLogs, with how many
// lines of each job have gone back, by its id here.
func Notes(k domain.MessageKey) string { return NotesPrefix + k.String() }

// NotesDone is its field that says that no more is to be sent.
const NotesDone = "done"

// ParseNotes reads the key of such a mark.
func ParseNotes(item string) (domain.MessageKey, bool) {
	rest, found := strings.CutPrefix(item, NotesPrefix+MessagePrefix)
	if !found {
		return domain.MessageKey{}, false
	}
	k, err := domain.ParseMessageKey(rest)
	return k, err == nil
}
