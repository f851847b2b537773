package domain

// Encryption is how a context's payloads are encrypted where they lie.
type Encryption struct {
	// On is that what is written now is encrypted.
	On bool `json:"on"`
	// Key is the name of the secret that wraps the context's keys.
	Key string `json:"key"`
	// Keys is how many data keys there are, and Primary the id of the one that
	// encrypts; both 0 where this node cannot open them.
	Keys    int    `json:"keys,omitzero"`
	Primary uint32 `json:"primary,omitzero"`
	// Revision counts the changes; SinceMs is when this one was made (Unix ms).
	Revision int64 `json:"revision"`
	SinceMs  int64 `json:"since_ms"`
	// Swept is that the board was gone through: all on it is as this revision
	// wants it but for Left values, which are read all the same until they go.
	Swept bool  `json:"swept"`
	Left  int64 `json:"left,omitzero"`
	// Locked says why this node cannot open the keys; "" is that it can.
	Locked string `json:"locked,omitzero"`
}

// Locked is an encrypted context whose keys a node cannot open: it serves
// nothing there.
type Locked struct {
	Context TenantID `json:"context"`
	// Key is the secret that it lacks, and Why what is wrong with it.
	Key string `json:"key"`
	Why string `json:"why,omitzero"`
}
