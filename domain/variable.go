package domain

// Limits of a variable.
const (
	MaxVariableBytes = 4 << 10 // of a constant
	MaxPatternBytes  = 128
)

// Variable is what ${name} in the params of a schedule stands for: one of its
// fields.
//
// Source: seed 004, "variables".
type Variable struct {
	Const *string    `json:"const,omitzero"`
	Count *Counter   `json:"count,omitzero"`
	Time  *TimeStamp `json:"time,omitzero"`
}

// Counter is a number that grows by one with each flow.
type Counter struct {
	// Next is its value for the next flow.
	Next int64 `json:"next"`
}

// TimeStamp is the time of a flow, as text.
type TimeStamp struct {
	// Pattern is made of yyyy MM dd HH mm ss SSS; other letters stand within
	// single quotes, and '' is one.
	Pattern string `json:"pattern"`
	// Zone is by whose clocks, an IANA name. Default: UTC.
	Zone string `json:"zone,omitzero"`
	// Offset is added to the time: -24h is the day before.
	Offset Offset `json:"offset,omitzero"`
}
