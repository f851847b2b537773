package layout

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// EncodeLog writes one line of a job's log as a list item.
func EncodeLog(l domain.Log) string { return mustJSON(l) }

// DecodeLog reads one line of a job's log. What a foreign program has pushed
// there as plain text is taken as a line without a time.
func DecodeLog(item string) domain.Log {
	var l domain.Log
	if err := json.Unmarshal([]byte(item), &l); err != nil || l.Stream == "" {
		return domain.Log{Stream: "stdout", Line: item}
	}
	return l
}
