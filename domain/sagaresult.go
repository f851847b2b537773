package domain

// SagaDeleted says what was deleted with a saga.
type SagaDeleted struct {
	Saga      string `json:"saga"`
	Versions  int    `json:"versions"`
	Instances int    `json:"instances"`
	// DeadLetters are its dead letters.
	DeadLetters int `json:"dead_letters"`
}

// SagaFrom says where a new saga begins to read its streams: one of the words below,
// an instant (RFC 3339 or Unix milliseconds), with what was stored then or later,
// or positions as "AGGREGATE_EVENTS:120,WORKFLOW_EVENTS:7", behind which it reads;
// streams that those do not name are read from now on.
type SagaFrom string

// The beginnings that have a word.
const (
	SagaFromNow   SagaFrom = "now"   // with what comes after it was applied
	SagaFromStart SagaFrom = "start" // with all that the streams still have
)

// SagaMigrated is what came, or would come, of bringing instances to another version.
type SagaMigrated struct {
	To int `json:"to"`
	// Instances are those that are brought to the version, in no order, and
	// Refused those that cannot be.
	Instances List[SagaMigration] `json:"instances"`
	Refused   List[SagaMigration] `json:"refused"`
	// Applied is how many are on their way there.
	Applied int    `json:"applied"`
	Next    string `json:"next,omitzero"`
}

// SagaMigration is what becomes of one instance.
type SagaMigration struct {
	Correlation string `json:"correlation_id"`
	From        int    `json:"from"`
	State       string `json:"state"`
	// Lines are "<field>: <as it is> -> <as it becomes>".
	Lines List[string] `json:"lines"`
	Error string       `json:"error,omitzero"`
}

// SagaLag is how far a partition of a saga has come in a stream.
type SagaLag struct {
	Saga      string     `json:"saga"`
	Partition int        `json:"partition"`
	Stream    StreamName `json:"stream"`
	// Position is up to where it was dealt with, Last what the stream has.
	Position uint64 `json:"position"`
	Last     uint64 `json:"last"`
	// Behind is how many messages behind Position the saga has yet to deal with: those
	// of its triggers, effects and instances, whichever partition they are for.
	Behind uint64 `json:"behind"`
	// Beyond is by how many messages it was read beyond the end of the stream, which has lost them or is
	// another. How much is behind is not known then: what the stream takes up to there is passed over.
	Beyond uint64 `json:"beyond,omitzero"`
	// Aside is how many of them were put aside: their instances have more events
	// than their share, and others go before them.
	Aside int `json:"aside,omitzero"`
	// Owner holds the partition; "": nobody does.
	Owner string `json:"owner,omitzero"`
	// Outbox is how many work items of the partition wait to be sent, on the first of its
	// rows: streams share it. It stops counting at 1,000.
	Outbox int `json:"outbox,omitzero"`
	// First is where the stream begins now, at FirstMs (Unix milliseconds): what was before
	// was cut, and no replay or rewind has it. 0: nothing was cut.
	First   uint64 `json:"first,omitzero"`
	FirstMs int64  `json:"first_ms,omitzero"`
	// Bytes is how large the stream is.
	Bytes uint64 `json:"bytes,omitzero"`
	// Trouble is why the stream takes no events now.
	Trouble string `json:"trouble,omitzero"`
}

// SagaRebuilt is what came out of computing instances again.
type SagaRebuilt struct {
	Events    int `json:"events"`
	Instances int `json:"instances"`
	Same      int `json:"same"`
	// Different are those that came out otherwise than they are, or are not
	// there.
	Different List[SagaDifference] `json:"different"`
	// Applied is how many of them were written.
	Applied int `json:"applied"`
}

// SagaDifference is an instance that came out otherwise than it is.
type SagaDifference struct {
	Correlation string `json:"correlation_id"`
	// Lines are "<field>: <as it is> -> <as it came out>".
	Lines List[string] `json:"lines"`
	// Repaired says that a person replayed or dropped what had held it, that an older
	// version of Ramet began it, or that streams have some of its events no more. It is
	// never written.
	Repaired bool `json:"repaired,omitzero"`
}
