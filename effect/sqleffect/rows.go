package sqleffect

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramet-run/ramet/effect"
)

// answer is what a saga gets.
type answer struct {
	// Affected has for each statement how many rows it changed or gave.
	Affected []int64 `json:"affected"`
	// Rows are those of the last statement that gives some, by column.
	Rows []json.RawMessage `json:"rows,omitempty"`
	// Truncated is set where there are more rows than the answer may have.
	Truncated bool `json:"truncated,omitempty"`
}

// room is how much of an answer rows may take, in bytes; the rest is for what
// is around them.
const room = effect.MaxAnswer - 4<<10

// take reads the rows of a statement, up to most and what fits, and counts
// them.
//
// Errors: *[effect.Refused] for columns that cannot be told apart.
func (a *answer) take(rows *sql.Rows, most int) (int64, error) {
	a.Rows, a.Truncated = nil, false
	columns, err := rows.ColumnTypes()
	if err != nil {
		return 0, err
	}
	names, err := columnNames(columns)
	if err != nil {
		return 0, err
	}
	cells, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	n, size := int64(0), 0
	for rows.Next() {
		n++
		if a.Truncated || len(a.Rows) == most {
			// The rest is counted, up to what a loop may take: expect is about it.
			a.Truncated = true
			if n > MaxRows {
				break
			}
			continue
		}
		if err := rows.Scan(into...); err != nil {
			return 0, err
		}
		row := writeRow(names, columns, cells)
		if size += len(row) + 1; size > room {
			a.Truncated = true
			continue
		}
		a.Rows = append(a.Rows, row)
	}
	return n, rows.Err()
}

// columnNames are the names as JSON texts.
func columnNames(columns []*sql.ColumnType) ([]string, error) {
	names := make([]string, len(columns))
	seen := map[string]bool{}
	for i, c := range columns {
		if seen[c.Name()] {
			return nil, effect.Refusedf("sql: two columns of the answer are named %s: name one otherwise with AS", plainText(c.Name()))
		}
		seen[c.Name()] = true
		names[i] = string(asJSON(c.Name()))
	}
	return names, nil
}

func writeRow(names []string, columns []*sql.ColumnType, cells []any) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, cell := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(names[i])
		b.WriteByte(':')
		b.Write(cellJSON(cell, columns[i].DatabaseTypeName()))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// cellJSON is a value of a column as JSON: numbers exact, times as in RFC 3339,
// bytes that are no text in base64, and JSON as it is.
func cellJSON(cell any, kind string) json.RawMessage {
	switch v := cell.(type) {
	case nil:
		return json.RawMessage("null")
	case []byte:
		return textJSON(string(v), kind)
	case string:
		return textJSON(v, kind)
	case time.Time:
		return asJSON(v.UTC().Format(time.RFC3339Nano))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return asJSON(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return asJSON(cell)
}

func textJSON(text, kind string) json.RawMessage {
	switch kind = strings.ToUpper(kind); {
	case kind == "JSON" || kind == "JSONB":
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case kind == "NUMERIC" || kind == "DECIMAL":
		if json.Valid([]byte(text)) { // not so NaN
			return json.RawMessage(text)
		}
	case kind == "BYTEA" || strings.Contains(kind, "BLOB") || strings.Contains(kind, "BINARY"):
		return asJSON(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	if !utf8.ValidString(text) {
		return asJSON(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return asJSON(text)
}

// asJSON is for values that all can be written.
func asJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: cannot be written as JSON: " + err.Error())
	}
	return text
}
