package resp

import (
	"time"
	"unsafe"

	"github.com/ramet-run/ramet/board"
)

// This file has every limit of one client; those of all together, of addresses
// and of actors are package budget's. They are judged before anything is
// allocated for what a client says is to come.

// What one client may send.
const (
	maxBulk        = board.MaxField           // bytes of one argument: what a field may hold
	maxArgs        = 1100                     // of one command: what a batch of the board may do, and some
	maxCommand     = board.MaxRecord + 64<<10 // bytes of one command's arguments together
	maxInline      = 64 << 10                 // bytes of a command typed as a line
	maxQueued      = 1000                     // commands between MULTI and EXEC
	maxQueuedBytes = maxCommand               // their arguments together
	maxWatched     = 128                      // keys of one client's WATCH
	maxChannels    = 1024                     // subscriptions of one client
	maxName        = 255                      // bytes of a channel, pattern of channels or client's name
	maxPattern     = 1 << 10                  // bytes of any other pattern
	maxSteps       = 1 << 28                  // that one command looks for a pattern: about a second of a processor

	// Who has not said yet who it is may say little: a token has 2 KiB at most.
	strangerBulk = 4 << 10
	strangerArgs = 10
	// strangerTries is how many wrong tokens end a connection.
	strangerTries = 5
)

// What a stretch of a pipeline is: commands that are answered together.
const (
	stretchCommands = 512
	stretchBytes    = 256 << 10
)

// What is answered.
const (
	maxAnswer      = 32 << 20 // bytes of one answer
	maxAnswerItems = 200_000  // items of one answer
	flushAt        = 64 << 10 // bytes of answers that are sent before more are made
	waveAnswers    = 4 << 20  // bytes of answers to all clients from which a wave ends
)

// What the clients of one space read at once.
const (
	readsAtOnce = 16      // commands that only read
	manyReads   = 8       // as how many of them one counts that may read more than a record
	itemsAtOnce = 256     // items or members that are asked of the board at once: their sizes show when they are there
	sheetReads  = 4 << 20 // bytes that a sheet has read from which no other command is done on it
)

// Times.
const (
	authTime    = 10 * time.Second // until a stranger has said who it is
	commandTime = time.Minute      // from a command's first byte to its last
	writeTime   = 30 * time.Second // for a client to take what it is sent
	closeTime   = 5 * time.Second  // for answers under way when the door closes
)

// sizeOf is what arguments take in memory: an empty one takes something, too.
func sizeOf(args []string) int {
	n := len(args) * int(unsafe.Sizeof(""))
	for _, a := range args {
		n += len(a)
	}
	return n
}

// smallBuffer is what each client has anyway; it is not counted as bytes.
const smallBuffer = 16 << 10
