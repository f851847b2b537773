package beside_test

import (
	"sync"
	"testing"
)

func TestBeside(*testing.T) {
	var all sync.WaitGroup
	all.Go(func() {})
	all.Wait()
}
