package domain

// Limits of an entry of the audit log: what is longer is cut.
const (
	MaxAuditObject = 255 // bytes of the verb and of the object
	MaxAuditDetail = 500 // bytes
)

// AuditOutcome says how something ended that the audit log keeps.
type AuditOutcome string

// The outcomes.
const (
	AuditDone    AuditOutcome = "done"
	AuditDenied  AuditOutcome = "denied"  // the actor has no right to it
	AuditRefused AuditOutcome = "refused" // what came in was not believed: a token, a message
)

// AuditEntry is one line of the audit log: who did something that changes
// rights or was done by hand, or was kept from doing something. It has no
// secrets.
type AuditEntry struct {
	// AtMs is when, in Unix milliseconds.
	AtMs int64 `json:"at_ms"`
	// Actor is who, as far as it was proved; 0 for nobody known.
	Actor ActorID `json:"actor"`
	// Verb and Object are what was done to what: "cancel", "job:1:7".
	Verb   string `json:"verb"`
	Object string `json:"object"`
	// Context is where; 0 for what concerns the node.
	Context TenantID     `json:"context,omitzero"`
	Outcome AuditOutcome `json:"outcome"`
	Detail  string       `json:"detail,omitzero"`
	// Node is the name of the node that saw it.
	Node string `json:"node,omitzero"`
	// Count is how many equal ones this line stands for, the last of them at
	// AtMs. 0 is one.
	Count int `json:"count,omitzero"`
	// Seq is its number in its list, of what was done or of what was denied; 0 for an entry
	// of before they had numbers.
	Seq int64 `json:"seq,omitzero"`
}

// AuditHead says how far the chain of a list of the audit log has come.
type AuditHead struct {
	// Seq is the number of the last line, and Hash the SHA-256 of its bytes, in hex.
	Seq  int64  `json:"seq"`
	Hash string `json:"hash,omitzero"`
	// Dropped is how many lines were ever cut at the old end because they were too many or
	// too old, and Anchor what the last of them was; nil as long as none was in the chain.
	Dropped int64        `json:"dropped,omitzero"`
	Anchor  *AuditAnchor `json:"anchor,omitzero"`
}

// AuditAnchor is what a node signed when it cut old lines of an audit log: from there
// the chain of those that are left goes on.
type AuditAnchor struct {
	// Seq and Hash are those of the last line that was cut.
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
	// AtMs is when, in Unix milliseconds, and Node which node did it.
	AtMs int64  `json:"at_ms"`
	Node string `json:"node,omitzero"`
	// Key is the node's public key, and Signature what it signed.
	Key       string `json:"key,omitzero"`
	Signature string `json:"sig,omitzero"`
}

// Cut returns the entry with texts of strangers cut to size and made readable:
// no line of it breaks a list or a terminal.
func (e AuditEntry) Cut() AuditEntry {
	e.Verb = PlainText(e.Verb, MaxAuditObject)
	e.Object = PlainText(e.Object, MaxAuditObject)
	e.Detail = PlainText(e.Detail, MaxAuditDetail)
	return e
}
