package api

import "github.com/ramet-run/ramet/domain"

// Info says what node this is.
type Info struct {
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	RunnerID   domain.RunnerID `json:"runner_id"`
	Board      string          `json:"board"`      // embedded, redis, memory
	Durability string          `json:"durability"` // of acknowledged writes
	// BoardError is why the board takes nothing that is written now.
	BoardError string `json:"board_error,omitzero"`
	// DiskError is why the node takes nothing new in: its disk is nearly full.
	DiskError string `json:"disk_error,omitzero"`
	Archive   string `json:"archive"` // sqlite, postgres, none
	// ArchiveDurability is what archived records survive; "" where there is no
	// archive, memory while its server has never been reached.
	ArchiveDurability string `json:"archive_durability,omitzero"`
	// ArchiveError is why the archive cannot be reached now.
	ArchiveError string `json:"archive_error,omitzero"`
	// ArchiveBacklog is what waits for the archive, as the node that archives told last.
	// It tells within seconds while something waits, and when nothing does any more.
	ArchiveBacklog *domain.ArchiveBacklog `json:"archive_backlog,omitzero"`
	Ready          bool                   `json:"ready"`
	// Roles are those that the node plays.
	Roles []domain.Role `json:"roles,omitzero"`
	// Off are the roles that rules of duty have taken from the node.
	Off       []domain.Off `json:"off,omitzero"`
	StartedMs int64        `json:"started_ms"`

	// Stream is where events are: nats, memory; "" where the node has no
	// streams. StreamDurability is what published events survive, Streams are
	// their names.
	Stream string `json:"stream,omitzero"`
	// StreamError is why the streams, or some of them, take nothing now.
	StreamError      string              `json:"stream_error,omitzero"`
	StreamDurability string              `json:"stream_durability,omitzero"`
	Streams          []domain.StreamName `json:"streams,omitzero"`
	// The rest is told to callers who may know: sagas to those who have a role
	// in their context, all else to the operator.
	//
	// Sagas are the partitions that the node holds, "<context>:<saga>:<partition>/<of>",
	// Effects those that it does, Consumers the durable consumers by which it
	// reads streams.
	Sagas     []string `json:"sagas,omitzero"`
	Effects   []string `json:"effects,omitzero"`
	Consumers []string `json:"consumers,omitzero"`
	// Locked are the encrypted contexts whose key this node does not have: it
	// does not serve them.
	Locked []domain.Locked `json:"locked,omitzero"`
	// Links are those that it makes to the NATS servers of other sites.
	Links []Link `json:"links,omitzero"`
	// Unreadable are the first values in the board's store that cannot be read,
	// by the names that they have there.
	Unreadable []string `json:"unreadable,omitzero"`
	// Losses say when the board, its archive and its event streams may last have lost what they had acknowledged, for those
	// that ever may have.
	Losses []Loss `json:"losses,omitzero"`
	// Evictions are sentences about what the board's store has thrown away, or would.
	Evictions []string `json:"evictions,omitzero"`
	// NowMs is the node's clock when it answered, Unix milliseconds; BoardMs the board's.
	NowMs   int64 `json:"now_ms,omitzero"`
	BoardMs int64 `json:"board_ms,omitzero"`
	// Sizes are what is kept, as far as the node knows it: not older than a minute.
	Sizes []Size `json:"sizes,omitzero"`
	// Certificates are those by which the node is known, as they lie on its disk.
	Certificates []Certificate `json:"certificates,omitzero"`
	// Settings are sentences about servers that are set in a way that costs something.
	Settings []Setting `json:"settings,omitzero"`
	// LateAlarm is what has come due longest ago on the board and is not done.
	LateAlarm *LateAlarm `json:"late_alarm,omitzero"`
}

// Loss says that a store may have lost what it had acknowledged.
type Loss struct {
	Of    domain.LossOf `json:"of"`
	Epoch int64         `json:"epoch"` // how often any of them may have
	AtMs  int64         `json:"at_ms"`
	Cause string        `json:"cause"`
}

// Size is how much of something is kept.
type Size struct {
	Of    string `json:"of"` // board (on this machine's disk), archive, streams, artifacts
	Bytes int64  `json:"bytes"`
	Items int64  `json:"items,omitzero"` // records of the archive, messages of streams
}

// Certificate is one by which a node is known.
type Certificate struct {
	Of   string `json:"of"` // what uses it: "the doors", "the board", …
	File string `json:"file"`
	// FromMs and UntilMs are when it is good, Unix milliseconds.
	FromMs  int64 `json:"from_ms,omitzero"`
	UntilMs int64 `json:"until_ms,omitzero"`
	// Error is why it cannot be read.
	Error string `json:"error,omitzero"`
}

// Setting is one of a server that costs something, with what would be better.
type Setting struct {
	Of   string `json:"of"` // archive, streams
	Text string `json:"text"`
}

// Link is a link to another site.
type Link struct {
	Host string `json:"host"`
	// To is the peer's name, or the key of its node that listens there; "" where
	// the link says neither.
	To string `json:"to,omitzero"`
	Up bool   `json:"up"`
}

// LateAlarm is an alarm that has come and was not handled yet.
type LateAlarm struct {
	Context domain.TenantID `json:"context"`
	Name    string          `json:"name"`
	LateMs  int64           `json:"late_ms"`
}
