package etcdboard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
)

// This file says where things lie in etcd. Every key begins with the board's
// prefix, which the names here leave out; then comes a room, and in most rooms
// the number of a space:
//
//	k/<space>/<key>                    what lies under a key: a record whole,
//	                                   or the bounds of a list, the size of a set;
//	                                   its live mark and expiry
//	l/<space>/<key>\x00<number>        a segment of a list, numbers from left to right
//	m/<space>/<key>\x00<hash>          a member of a set
//	e/<space>/<item>                   a lease
//	a/<space>/<name>                   an alarm
//	c/<space>/<key>                    a counter of Next
//	h/<space>                          changed by every claim under a cap
//	head                               changed by every transaction
//	line/<board>                       there while a node stands in line
//	~clock/<board>                     what the clock of a node says, see clock.go
//	~id/<board>                        the last transaction of one node
//	~lead                              how far the revision is ahead of etcd's log, see restored.go
const (
	roomHead    = 'k'
	roomSegment = 'l'
	roomMember  = 'm'
	roomLease   = 'e'
	roomAlarm   = 'a'
	roomCounter = 'c'
	roomHeld    = 'h'

	headName = "head"
)

// name is a thing of a space.
type name struct {
	space board.Space
	key   string
}

func (n name) in(room byte) string {
	return string(room) + "/" + strconv.FormatUint(uint64(n.space), 10) + "/" + n.key
}

func heldKey(space board.Space) string { return name{space: space}.in(roomHeld) }

// segmentKey is the key of one segment. Numbers sort as they count, also
// below zero.
func (n name) segmentKey(number int64) string {
	return n.in(roomSegment) + fmt.Sprintf("\x00%016x", uint64(number)^1<<63)
}

// memberKey is the key of a member. A hash stands for it, because a member may
// be as long as a value.
func (n name) memberKey(member string) string {
	sum := sha256.Sum256([]byte(member))
	return n.in(roomMember) + "\x00" + hex.EncodeToString(sum[:16])
}

// parseKey splits a key without the board's prefix. part is what comes after
// a NUL. Room 0 is none of ours.
func parseKey(key string) (room byte, n name, part string) {
	if len(key) < 3 || key[1] != '/' {
		return 0, name{}, ""
	}
	number, rest, ok := strings.Cut(key[2:], "/")
	id, err := strconv.ParseUint(number, 10, 32)
	if !ok || err != nil {
		return 0, name{}, ""
	}
	rest, part, _ = strings.Cut(rest, "\x00")
	return key[0], name{board.Space(id), rest}, part
}
