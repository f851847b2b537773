package resp

import (
	"math"

	"github.com/ramet-run/ramet/board"
)

// integer reads an argument as Redis reads whole numbers: neither "010" nor "+1" is one.
func integer(arg string) (int64, error) {
	n, ok := board.Number(arg)
	if !ok {
		return 0, errInteger
	}
	return n, nil
}

// count32 is integer for counts and indexes: what is beyond every list is as good as 32 bits of it.
func count32(arg string) (int, error) {
	n, err := integer(arg)
	return int(min(max(n, -math.MaxInt32), math.MaxInt32)), err
}
