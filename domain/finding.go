package domain

// Audit is what a round of an auditor found in one context.
type Audit struct {
	// Looked is how many unfinished things it looked at.
	Looked int `json:"looked"`
	// Repaired lists what was brought back, with the reason.
	Repaired List[Finding] `json:"repaired"`
	// Stuck lists what nothing would ever move and no rule is known for.
	Stuck List[Finding] `json:"stuck"`
}

// With adds what another audit found.
func (a Audit) With(b Audit) Audit {
	return Audit{a.Looked + b.Looked, append(a.Repaired, b.Repaired...), append(a.Stuck, b.Stuck...)}
}

// Finding is one unfinished thing that had no reason to be alive.
type Finding struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}
