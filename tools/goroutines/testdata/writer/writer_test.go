package writer

import "testing"

func TestRun(*testing.T) {}
