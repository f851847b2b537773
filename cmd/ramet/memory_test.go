package main

import "testing"

func TestMemoryIsGivenBackOnceAfterABusyTime(t *testing.T) {
	var l lull
	for _, look := range []struct {
		allocated uint64
		want      bool
	}{
		{quietBytes, false},           // a start that takes little
		{10 * quietBytes, false},      // busy
		{20 * quietBytes, false},      // still
		{20*quietBytes + 1000, true},  // quiet
		{20*quietBytes + 2000, false}, // still quiet: it has nothing to give
		{30 * quietBytes, false},      // busy again
		{31 * quietBytes, true},
	} {
		if got := l.become(look.allocated); got != look.want {
			t.Errorf("after %d bytes: got %v, want %v", look.allocated, got, look.want)
		}
	}
}
