package parallel

import "testing"

func TestParallel(t *testing.T) { t.Parallel() }
