package redisboard

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
)

// own are the keys of records that the board keeps for itself. What else it
// keeps is in sorted sets, which are none of a board's kinds of thing.
var own = []string{"ramet:running", "ramet:counters", "ramet:turn", "ramet:capped", "ramet:board"}

// prefix begins the keys of a space.
func (b *Board) prefix(space board.Space) string {
	if b.tenancy == TenancyDB || space == 0 {
		return ""
	}
	return "ctx:" + decimal(space) + ":"
}

func decimal(space board.Space) string { return strconv.FormatUint(uint64(space), 10) }

// cutMember takes apart how a node-wide sorted set names an item or alarm of a
// space: "<space>|<name>".
func cutMember(m string) (board.Space, string, bool) {
	head, name, ok := strings.Cut(m, "|")
	n, err := strconv.ParseUint(head, 10, 32)
	return board.Space(n), name, ok && err == nil
}

// cutPrefix finds out which space a key of database db lies in.
func (b *Board) cutPrefix(db board.Space, key string) (board.Space, string) {
	if b.tenancy == TenancyDB {
		return db, key
	}
	rest, ok := strings.CutPrefix(key, "ctx:")
	if !ok {
		return 0, key
	}
	head, name, ok := strings.Cut(rest, ":")
	n, err := strconv.ParseUint(head, 10, 32)
	if !ok || err != nil || n == 0 {
		return 0, key
	}
	return board.Space(n), name
}

// hidden reports whether a key of a space is not to be listed.
func hidden(key string) bool { return slices.Contains(own, key) }

// escape makes text stand for itself in a glob pattern.
func escape(text string) string {
	if !strings.ContainsAny(text, `*?[]\^-`) {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]\`, text[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
