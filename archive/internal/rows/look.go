package rows

import (
	"encoding/json"
	"fmt"

	"github.com/ramet-run/ramet/archive"
)

// This file finds words that many records have. An index of words gathers all records
// that have one before the newest can be told, a million for what every job prints. So
// the newest records are looked through first, a bounded number: what many have is soon
// found there, and what few have costs the index little.

// What a look goes through at the most, and how large a record may be that is read.
const (
	lookRows   = 1000
	lookBytes  = 1 << 20
	lookRecord = 64 << 10
)

// LookColumns are those that [Look] wants: what is too large to be read is NULL.
var LookColumns = fmt.Sprintf(Head+", CASE WHEN octet_length(body) + octet_length(logs) <= %[1]d THEN body END, "+
	"CASE WHEN octet_length(body) + octet_length(logs) <= %[1]d THEN logs END", lookRecord)

// LookOrder is the order of the rows of a look, and how many.
var LookOrder = fmt.Sprintf(" ORDER BY end_ms DESC, key DESC LIMIT %d", lookRows)

// Look looks through the newest records that fit all but the words of a plan. done says
// that the page is what the plan asks for; else more must be looked at, and nothing is said.
func Look(p *archive.Plan, next func() bool, scan func(dest ...any) error) (page archive.Page, done bool, err error) {
	found, looked, size := []archive.Record{}, 0, 0
	for ; next(); looked++ {
		var body, logs []byte
		r, err := scanInto(scan, true, &body, &logs)
		if err != nil {
			return page, false, err
		}
		if size += len(body) + len(logs); body == nil || size > lookBytes {
			return page, false, nil
		}
		if !p.MayFit(body, logs) {
			continue
		}
		if r.Body = body; len(logs) > 0 {
			if err := json.Unmarshal(logs, &r.Logs); err != nil {
				return page, false, err
			}
		}
		if !p.Fits(&r) {
			continue
		}
		if !p.Whole {
			r.Body, r.Logs = nil, nil
		}
		if found = append(found, r); len(found) > p.Limit {
			return p.Cut(found, false), true, nil
		}
	}
	return p.Cut(found, false), looked < lookRows, nil
}
